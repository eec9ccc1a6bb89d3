internal import TapedeckModel
internal import TapedeckProjections

/// The episodes that are on, or end soon, at a time.
public struct ScheduleNow: Codable, Hashable, Sendable {
    /// The episodes.
    public var episodes: [ScheduleWeek.Episode]
    /// The time at which the result may change without new events; nil if unknown.
    @NullWhenNil public var nextChangeAt: UTCTime?
}

extension QueryLimits {
    /// The default number of seconds before its end at which an episode is ending soon: 15 minutes.
    public static let endingSoonSeconds = 900.0
    /// The maximum length of an episode that can be on, in hours.
    static let episodeHoursMax: Int64 = 48
    /// The number of days ahead in which to look for the next change; after that, the query has to
    /// be repeated.
    static let changeAheadDays: Int64 = 7
}

extension VideoQueries {
    /// Returns the episodes that are on at a time, by start time, then by id.
    ///
    /// An episode is on from its start until its end, which follows from its own length or else
    /// from its show's. Episodes without a known time of day or length, cancelled episodes, and
    /// episodes longer than two days are left out. Reads the rows of the previous two days, and
    /// those up to the next start.
    public func onNow(at now: UTCTime, scope: ScheduleScope) throws -> ScheduleNow {
        try shown(EpisodesShown(at: now), scope)
    }

    /// Returns the episodes that are on at a time and end within a window, by end, then by id.
    ///
    /// Throws `ModelError` with `.usage` if the window is negative or too long.
    ///
    /// - Parameter windowSeconds: the number of seconds before its end at which an episode is
    ///   ending soon.
    public func endingSoon(
        at now: UTCTime, scope: ScheduleScope,
        windowSeconds: Double = QueryLimits.endingSoonSeconds
    ) throws -> ScheduleNow {
        try QueryLimits.check(windowSeconds: windowSeconds)
        return try shown(EpisodesShown(at: now, endingWithin: windowSeconds), scope)
    }

    private func shown(_ shown: EpisodesShown, _ scope: ScheduleScope) throws -> ScheduleNow {
        var shown = shown
        let horizon = shown.now.adding(QueryLimits.changeAheadDays * ScheduleQuery.dayMilliseconds)
        try forEachEpisode(
            from: shown.now.adding(-EpisodesShown.lengthMax), to: horizon, scope
        ) { shown.take($0) }
        if shown.nextChangeAt == nil, try !isLast(horizon) {
            shown.nextChangeAt = horizon.milliseconds
        }
        return ScheduleNow(
            episodes: shown.entries, nextChangeAt: shown.nextChangeAt.map(UTCTime.init))
    }

    /// Returns whether no episode of any channel begins at or after a time.
    private func isLast(_ time: UTCTime) throws -> Bool {
        try reader.rows(
            of: projections.schedule, table: EpisodeSchedule.byStart,
            lower: RowKey().ascending(time.milliseconds), upper: nil, after: nil, limit: 1
        ).isEmpty
    }
}

/// Selects the episodes that are shown at a time, and finds the next change.
///
/// Episodes are added in the order of their start times.
struct EpisodesShown {
    /// The maximum length of an episode that can be on, in milliseconds.
    static let lengthMax = QueryLimits.episodeHoursMax * 3_600_000

    let now: UTCTime
    /// The number of milliseconds before its end from which an episode is shown; nil to show it
    /// from its start.
    private let window: Int64?
    private var episodes: [ListedEpisode] = []
    /// The time at which different episodes are shown, in milliseconds since 1970.
    var nextChangeAt: Int64?

    /// Creates a selection of the episodes that are on, or only of episodes that also end within
    /// some seconds.
    init(at now: UTCTime, endingWithin windowSeconds: Double? = nil) {
        self.now = now
        window = windowSeconds.map { Int64($0 * 1_000) }
    }

    /// Adds the next episode; returns false if neither it nor any later one matters.
    mutating func take(_ listed: ListedEpisode) -> Bool {
        // An episode that begins after the next change cannot cause an earlier one.
        if let nextChangeAt, nextChangeAt < listed.start { return false }
        guard let end = listed.end, end > now.milliseconds,
            end - listed.start <= EpisodesShown.lengthMax
        else { return true }
        let from = window.map { max(listed.start, end - $0) } ?? listed.start
        let isShown = from <= now.milliseconds
        if isShown { episodes.append(listed) }
        nextChangeAt = min(nextChangeAt ?? .max, isShown ? end : from)
        return true
    }

    /// The shown episodes by start time, or by end if they end soon; then by id.
    var entries: [ScheduleWeek.Episode] {
        let entries = episodes.map(\.entry)
        guard window != nil else { return entries }
        return entries.sorted { ($0.endsAt ?? now, $0.id) < ($1.endsAt ?? now, $1.id) }
    }
}
