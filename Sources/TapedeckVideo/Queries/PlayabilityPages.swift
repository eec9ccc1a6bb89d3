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
    /// The videos that are shared or on a remote's list and have never been checked.
    ///
    /// Videos that no remote has reported as unplayable come first, most recently listed first.
    /// Next come the videos that a remote has reported as unplayable in a report that has expired,
    /// earliest expiry first.
    case unknown
    /// The playable videos.
    ///
    /// Videos that no remote has reported as unplayable come first, sorted by key. Next come the
    /// videos that a remote has reported as unplayable in a report that has expired, earliest
    /// expiry first.
    case playable
    /// The unplayable videos.
    ///
    /// Videos that a remote has reported as unplayable until a known time come first, earliest time
    /// first.
    case unplayable
    /// The videos whose check failed, earliest retry first.
    case failed
    /// The videos to check now, in the order of `VideoQueries.checksDue`.
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
    /// The time of the next check; nil if no further check is needed, or if the video has never
    /// been checked and can be checked at any time.
    @NullWhenNil public var nextTryAt: UTCTime?
    /// The time at which a remote's report of an unplayable video expires; nil if the video was not
    /// reported, or if the report does not expire.
    @NullWhenNil public var until: UTCTime?
    /// Whether the video should be checked now.
    public var due: Bool
    /// The URL at which to ask the video's provider, as in `PlayabilityCheck`; nil if the check
    /// needs no request.
    @NullWhenNil public var checkUrl: String?

    init(_ key: Tag, _ known: Playability.State?, at now: UTCTime) {
        let (key, known) = (VideoKey(tag: key), known ?? Playability.State())
        let resolved = known.resolved(at: now)
        video = key.text
        (state, reason, until) = (resolved.state, resolved.reason, resolved.until)
        checkedAt = (known.failure?.at ?? known.verdict?.at).map(UTCTime.init)
        failures = Int(clamping: known.failure?.attempt ?? 0)
        let next = known.nextCheckAt(of: key)
        nextTryAt = next.flatMap { $0 == 0 ? nil : UTCTime(milliseconds: $0) }
        due = next.map { $0 <= now.milliseconds } ?? false
        checkUrl = PlayabilityCheck(key).url
    }
}

extension Playability.State {
    /// Returns whether the video can be played, the reason if it cannot, and the time at which a
    /// remote's report of an unplayable video expires.
    func resolved(
        at now: UTCTime
    ) -> (state: PlayabilityState, reason: String?, until: UTCTime?) {
        if let reason = verdict?.reason { return (.unplayable, reason, nil) }
        if let remote, remote.holds(at: now) {
            return (.unplayable, "remote", remote.endsAt.map(UTCTime.init))
        }
        if verdict != nil { return (.playable, nil, nil) }
        return (failure == nil ? .unknown : .failed, failure?.reason, nil)
    }
}

extension VideoQueries {
    /// Returns whether a video can be played at `now`; the state is `.unknown` for an unknown
    /// video.
    ///
    /// - Parameter video: The video's key, or any of its URLs.
    public func playability(of video: String, at now: UTCTime) throws -> PlayabilityEntry {
        let key = try VideoKey(video)
        return PlayabilityEntry(
            key.tag, try reader.state(of: projections.playability, key: key.tag), at: now)
    }

    /// Returns, for each of the given videos in the same order, whether it can be played at `now`.
    public func playability(of videos: [String], at now: UTCTime) throws -> PlayabilityPage {
        PlayabilityPage(videos: try videos.map { try playability(of: $0, at: now) })
    }

    /// Returns videos and whether they can be played at `now`.
    ///
    /// A page of `.failed` videos may be shorter than `limit` even if there is a next page, because
    /// videos that a remote reports as unplayable are left out.
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
        case .unknown:
            return try list(
                Playability.unchecked, .uncheckedVideos, (front, behindNow), limit, cursor, now)
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
        case .due: return try due((front, behindNow), limit, cursor, now)
        }
    }

    /// Returns the videos to check at `now`, most urgent first; at most `limit` of them.
    ///
    /// Listed videos that have never been checked come first, most recently listed first. Next come
    /// the videos whose check has been due the longest: failed checks whose delay has passed
    /// (`RetryDelay.standard`: half a minute, doubling up to six hours), and provider findings
    /// older than `PlayabilityCheck.findingMilliseconds`. A video leaves the list once its check
    /// has been recorded.
    ///
    /// The 2012 app made three checks at a time, after each poll of its broadcasts, and stored a
    /// failed check as a permanent finding.
    public func checksDue(
        at now: UTCTime, limit: Int = QueryLimits.pageCountDefault
    ) throws -> [VideoKey] {
        try playability(.due, at: now, limit: limit).videos.compactMap { try? VideoKey($0.video) }
    }

    /// Returns a page of the unchecked videos merged with the planned checks.
    private func due(
        _ bounds: (lower: RowKey, upper: RowKey), _ limit: Int, _ cursor: String?, _ now: UTCTime
    ) throws -> PlayabilityPage {
        try QueryLimits.check(limit)
        let place = try PageCursor.key(.dueChecks, cursor)
        var rows = try [Playability.unchecked, Playability.planned].flatMap { table in
            try reader.rows(
                of: projections.playability, table: table, lower: bounds.lower,
                upper: bounds.upper, after: place, limit: limit + 1
            ).map { (table: table, row: $0) }
        }
        rows.sort { $0.row.key.lexicographicallyPrecedes($1.row.key) }
        let page = rows.prefix(limit)
        return PlayabilityPage(
            videos: try page.map { try checkedPlayability($0.row, of: $0.table, at: now) },
            next: rows.count > limit
                ? page.last.map { PageCursor.text(.dueChecks, $0.row.key) } : nil)
    }

    private func list(
        _ table: Int, _ list: PageCursor.List, _ bounds: (lower: RowKey, upper: RowKey),
        _ limit: Int, _ cursor: String?, _ now: UTCTime
    ) throws -> PlayabilityPage {
        let (rows, next) = try page(
            of: projections.playability, table: table, list, limit: limit, cursor: cursor,
            within: bounds)
        return PlayabilityPage(
            videos: try rows.map { try checkedPlayability($0, of: table, at: now) }, next: next)
    }

    /// Returns the video in a row of a table, and whether the video can be played.
    func checkedPlayability(
        _ row: Row, of table: Int, at now: UTCTime
    ) throws -> PlayabilityEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try Playability.State(reading: &reader)
        }
        return PlayabilityEntry(
            tag("video", in: row, after: Playability.prefixCount(of: table)), state, at: now)
    }

    /// Returns the video in a row of the shared videos, and whether the video can be played.
    func sharedPlayability(_ row: Row, at now: UTCTime) throws -> PlayabilityEntry {
        let tag = tag("video", in: row, after: 8)
        return PlayabilityEntry(
            tag, try reader.state(of: projections.playability, key: tag), at: now)
    }
}
