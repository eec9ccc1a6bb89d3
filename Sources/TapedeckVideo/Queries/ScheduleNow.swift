internal import TapedeckModel
internal import TapedeckProjections

/// What is on at a time.
public struct ScheduleNow: Codable, Hashable, Sendable {
    /// The episodes.
    public var episodes: [ScheduleWeek.Episode]
    /// When the answer may become another one by the time alone; nil where that is not known.
    @NullWhenNil public var nextChangeAt: UTCTime?
}

extension QueryLimits {
    /// How long before its end an episode is ending soon, where nothing is said: a quarter of an hour.
    public static let endingSoonSeconds = 900.0
    /// The longest episode that is found to be on, in hours.
    static let episodeHoursMax: Int64 = 48
    /// How far ahead the next change is looked for, in days; it is asked again then.
    static let changeAheadDays: Int64 = 7
}

extension VideoQueries {
    /// The episodes that are on at a time, by beginning, then by id.
    ///
    /// An episode is on from its beginning to before its end, which follows from its own length, else from its
    /// show's. One whose time of day or length is not known is never on, nor is one that is cancelled or
    /// longer than two days.
    ///
    /// Costs the rows of the two days before, and those until the next beginning.
    public func onNow(at now: UTCTime, scope: ScheduleScope) throws -> ScheduleNow {
        try shown(at: now, scope) { $0.start }
    }

    /// The episodes that are on at a time and end within a window of it, by end, then by id.
    ///
    /// - Parameter windowSeconds: how long before its end an episode is ending soon.
    ///
    /// Throws `ModelError` with `.usage` for a window that is no duration.
    public func endingSoon(
        at now: UTCTime, scope: ScheduleScope,
        windowSeconds: Double = QueryLimits.endingSoonSeconds
    ) throws -> ScheduleNow {
        try QueryLimits.check(windowSeconds: windowSeconds)
        let window = Int64(windowSeconds * 1_000)
        var found = try shown(at: now, scope) { max($0.start, $0.end - window) }
        found.episodes.sort { ($0.endsAt ?? now, $0.id) < ($1.endsAt ?? now, $1.id) }
        return found
    }

    /// The episodes that are shown at a time, each from some time in it to its end.
    private func shown(
        at now: UTCTime, _ scope: ScheduleScope,
        from: ((start: Int64, end: Int64)) -> Int64
    ) throws -> ScheduleNow {
        let day = ScheduleQuery.dayMilliseconds
        let horizon = now.adding(QueryLimits.changeAheadDays * day)
        var found = ScheduleNow(episodes: [])
        var next: Int64?
        try forEachEpisode(
            from: now.adding(-QueryLimits.episodeHoursMax * 3_600_000), to: horizon, scope
        ) { listed in
            // What begins later than the next change cannot be before it.
            if let next, next < listed.start { return false }
            guard let end = listed.end, end > now.milliseconds else { return true }
            let from = from((listed.start, end))
            if from <= now.milliseconds { found.episodes.append(listed.entry) }
            next = min(next ?? .max, from <= now.milliseconds ? end : from)
            return true
        }
        if next == nil, try !isLast(horizon) { next = horizon.milliseconds }
        found.nextChangeAt = next.map(UTCTime.init)
        return found
    }

    /// Whether no episode of any channel begins at a time or later.
    private func isLast(_ time: UTCTime) throws -> Bool {
        try reader.rows(
            of: projections.schedule, table: EpisodeSchedule.byStart,
            lower: RowKey().ascending(time.milliseconds), upper: nil, after: nil, limit: 1
        ).isEmpty
    }
}
