internal import TapedeckModel
internal import TapedeckProjections

/// Whether a video can be played.
public enum PlayabilityState: String, Codable, Hashable, Sendable {
    /// The video has never been checked.
    case unknown
    case playable, unplayable
    /// All checks have failed, so it is unknown whether the video can be played.
    case failed
}

/// The videos to include in a playability list.
public enum PlayabilityFilter: String, Sendable, CaseIterable {
    /// All shared videos, most recently shared first.
    case all
    /// The shared videos that have never been checked, most recently shared first.
    case unknown
    /// The playable videos.
    ///
    /// Videos that no remote has reported as unplayable come first, sorted by key. Videos whose
    /// report has expired come next, earliest expiry first.
    case playable
    /// The unplayable videos, earliest expiry of a remote's report first.
    case unplayable
    /// The videos whose check failed, earliest retry first.
    case failed
    /// The videos whose check failed and is due again.
    case due
}

/// A page of videos and whether they can be played.
public struct PlayabilityPage: Codable, Hashable, Sendable {
    /// The videos.
    public var videos: [PlayabilityEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// Whether a video can be played at a given time.
public struct PlayabilityEntry: Codable, Hashable, Sendable {
    /// The video, as `provider:id`.
    public var video: String
    /// Whether the video can be played.
    public var state: PlayabilityState
    /// The reason why the video cannot be played or could not be checked; `remote` if users of a
    /// remote reported that the video cannot be played.
    @NullWhenNil public var reason: String?
    /// The time of the last check.
    @NullWhenNil public var checkedAt: UTCTime?
    /// The number of failed checks since the last conclusive check.
    public var failures: Int
    /// The time at which to retry a failed check; nil if no retry is scheduled.
    @NullWhenNil public var nextTryAt: UTCTime?
    /// The time at which a remote's report of an unplayable video expires; nil if there is no such
    /// report or it does not expire.
    @NullWhenNil public var until: UTCTime?
    /// Whether the video should be checked now.
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
    /// Returns whether a video can be played at `now`; the state is `.unknown` for an unknown
    /// video.
    ///
    /// - Parameter video: the video's key, or any of its URLs.
    public func playability(of video: String, at now: UTCTime) throws -> PlayabilityEntry {
        let key = try VideoKey(video)
        return PlayabilityEntry(
            key.text, try reader.state(of: projections.playability, key: key.tag), at: now)
    }

    /// Returns whether each of the given videos can be played at `now`, in the same order.
    public func playability(of videos: [String], at now: UTCTime) throws -> PlayabilityPage {
        PlayabilityPage(videos: try videos.map { try playability(of: $0, at: now) })
    }

    /// Returns videos and whether they can be played at `now`.
    ///
    /// A page of `.unknown` or `.failed` videos may be shorter than `limit` even if there is a next
    /// page: `.unknown` examines at most `QueryLimits.pageCountMax` videos, and `.failed` leaves
    /// out videos that a remote reports as unplayable.
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

    /// Converts a row of the checks to a video and whether it can be played.
    func checkedPlayability(_ row: Row, at now: UTCTime) throws -> PlayabilityEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try Playability.State(reading: &reader)
        }
        return PlayabilityEntry(tag("video", in: row, after: 8).name, state, at: now)
    }

    /// Returns the shared videos that have never been checked.
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

    /// Converts a row of the shared videos to a video and whether it can be played.
    func sharedPlayability(_ row: Row, at now: UTCTime) throws -> PlayabilityEntry {
        let tag = tag("video", in: row, after: 8)
        return PlayabilityEntry(
            tag.name, try reader.state(of: projections.playability, key: tag), at: now)
    }
}
