internal import TapedeckModel
internal import TapedeckProjections

/// Whether a video can be played.
public enum PlayabilityState: String, Codable, Hashable, Sendable {
    /// Nobody has checked.
    case unknown
    case playable, unplayable
    /// Every check has failed, so nothing is known.
    case failed
}

/// Which videos a list of playability holds.
public enum PlayabilityFilter: String, Sendable, CaseIterable {
    /// All that were shared, the one shared last first.
    case all
    /// Those that were shared and that nobody has checked, the one shared last first.
    case unknown
    /// By key, behind those of which a remote says no longer that they cannot be played.
    case playable
    /// Those to which that happens soonest first.
    case unplayable
    /// The one that is due first in front.
    case failed
    /// The failed ones that are due.
    case due
}

/// A page of videos with whether they can be played.
public struct PlayabilityPage: Codable, Hashable, Sendable {
    /// The videos.
    public var videos: [PlayabilityEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Whether a video can be played, as of a time.
public struct PlayabilityEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// Whether it can be played.
    public var state: PlayabilityState
    /// Why not, or why nothing is known; `remote` where a remote's users say so.
    @NullWhenNil public var reason: String?
    /// When the last check was.
    @NullWhenNil public var checkedAt: UTCTime?
    /// How many checks in a row have failed since one found something out.
    public var failures: Int
    /// When a failed check is due again; nil where none is.
    @NullWhenNil public var nextTryAt: UTCTime?
    /// When a remote's word ceases to hold; nil where it does not hold, or holds for ever.
    @NullWhenNil public var until: UTCTime?
    /// Whether the video is to be checked now.
    public var due: Bool

    init(_ video: some StringProtocol, _ known: Playability.State?, at now: UTCTime) {
        self.video = String(video)
        state = .unknown
        failures = Int(clamping: known?.failure?.attempt ?? 0)
        if let verdict = known?.verdict {
            state = verdict.isPlayable ? .playable : .unplayable
            reason = verdict.reason
        } else if let failure = known?.failure {
            state = .failed
            reason = failure.reason
        }
        due = known?.failure.map { $0.isDue(at: now) } ?? (state == .unknown)
        checkedAt = (known?.failure?.at ?? known?.verdict?.at).map(UTCTime.init)
        nextTryAt = known?.failure?.nextTryAt.map(UTCTime.init)
        guard state != .unplayable, let remote = known?.remote, remote.holds(at: now) else {
            return
        }
        (state, reason, due) = (.unplayable, "remote", false)
        until = remote.endsAt.map(UTCTime.init)
    }
}

extension VideoQueries {
    /// Whether one video can be played at `now`; `.unknown` for one that nobody has heard of.
    ///
    /// - Parameter video: its key, or any URL form of it.
    public func playability(of video: String, at now: UTCTime) throws -> PlayabilityEntry {
        let key = try VideoKey(video)
        return PlayabilityEntry(
            key.text, try reader.state(of: projections.playability, key: key.tag), at: now)
    }

    /// Whether each of some videos can be played at `now`, in their order.
    public func playability(of videos: [String], at now: UTCTime) throws -> PlayabilityPage {
        PlayabilityPage(videos: try videos.map { try playability(of: $0, at: now) })
    }

    /// The videos with whether they can be played at `now`.
    ///
    /// A page of `.unknown` or `.failed` may be shorter than `limit` although there is a next one: one
    /// looks at `QueryLimits.pageCountMax` videos at the most, the other leaves out those of which a
    /// remote says that they cannot be played.
    public func playability(
        _ filter: PlayabilityFilter = .all, at now: UTCTime,
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> PlayabilityPage {
        let front = RowKey().ascending(Int64.min)
        let behindNow = RowKey().ascending(now.milliseconds).raw([0xFF])
        let end = RowKey().raw([UInt8](repeating: 0xFF, count: 9))
        switch filter {
        case .all:
            let (rows, next) = try page(
                of: projections.videos, .playability, limit: limit, cursor: cursor)
            return PlayabilityPage(
                videos: try rows.map { try sharedPlayability($0, at: now) }, next: next)
        case .unknown: return try unknown(at: now, limit: limit, cursor: cursor)
        case .playable:
            return try list(
                Playability.playable, .playable, (front, behindNow), limit, cursor, now)
        case .unplayable:
            return try list(
                Playability.unplayable, .unplayable, (behindNow, end), limit, cursor, now)
        case .failed:
            var found = try list(
                Playability.failed, .failedChecks, (front, end), limit, cursor, now)
            found.videos.removeAll { $0.state != .failed }
            return found
        case .due:
            return try list(Playability.failed, .dueChecks, (front, behindNow), limit, cursor, now)
        }
    }

    private func list(
        _ table: Int, _ list: PageCursor.List, _ bounds: (lower: RowKey, upper: RowKey),
        _ limit: Int, _ cursor: String?, _ now: UTCTime
    ) throws -> PlayabilityPage {
        let (rows, next) = try page(
            of: projections.playability, table: table, list, limit: limit, cursor: cursor,
            within: bounds)
        return PlayabilityPage(
            videos: try rows.map { try checkedPlayability($0, at: now) }, next: next)
    }

    /// Whether the video of a row of a list of checks can be played.
    func checkedPlayability(_ row: Row, at now: UTCTime) throws -> PlayabilityEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try Playability.State(reading: &reader)
        }
        return PlayabilityEntry(tag("video", in: row, after: 8).name, state, at: now)
    }

    /// Those among the videos that were shared that nobody has checked.
    private func unknown(at now: UTCTime, limit: Int, cursor: String?) throws -> PlayabilityPage {
        try QueryLimits.check(limit)
        let rows = try reader.rows(
            of: projections.videos, table: 0, lower: nil, upper: nil,
            after: PageCursor.key(.uncheckedVideos, cursor), limit: QueryLimits.pageCountMax)
        var found: [PlayabilityEntry] = []
        for (index, row) in rows.enumerated() {
            let entry = try sharedPlayability(row, at: now)
            if entry.state == .unknown { found.append(entry) }
            let isLast = index + 1 == rows.count
            if found.count == limit || isLast && rows.count == QueryLimits.pageCountMax {
                return PlayabilityPage(
                    videos: found, next: PageCursor.text(.uncheckedVideos, row.key))
            }
        }
        return PlayabilityPage(videos: found, next: nil)
    }

    /// Whether the video of a row of those that were shared can be played.
    func sharedPlayability(_ row: Row, at now: UTCTime) throws -> PlayabilityEntry {
        let tag = tag("video", in: row, after: 8)
        return PlayabilityEntry(
            tag.name, try reader.state(of: projections.playability, key: tag), at: now)
    }
}
