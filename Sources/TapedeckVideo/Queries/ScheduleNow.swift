internal import TapedeckModel
internal import TapedeckProjections

/// The episodes that are on, or that end soon, at a given time.
public struct ScheduleNow: Codable, Hashable, Sendable {
    /// The episodes.
    public var episodes: [ScheduleWeek.Episode]
    /// The time at which the result may change without new events; nil if there is none.
    @NullWhenNil public var nextChangeAt: UTCTime?
}

extension QueryLimits {
    /// The default number of seconds within which an episode has to end to count as ending soon.
    public static let endingSoonSeconds = 900.0
    /// The maximum length of a listed episode, in hours; longer episodes are left out.
    static let episodeHoursMax: Int64 = 48
    /// The number of days to look ahead for the next change; if nothing changes in that time, the
    /// query has to be repeated after that many days.
    static let changeAheadDays: Int64 = 7
}

extension VideoQueries {
    /// Returns the episodes that are on at a given time, in order of start time and id.
    ///
    /// An episode is on from its start until its end. The end is computed from the length of the
    /// episode or, if that is unknown, from the usual length of the show's episodes. Episodes
    /// without a known time of day or length, cancelled episodes, and episodes longer than two days
    /// are left out. Reads the rows of the previous two days, and the rows up to the next change.
    public func onNow(at now: UTCTime, scope: ScheduleScope) throws -> ScheduleNow {
        try shown(EpisodesShown(at: now), scope)
    }

    /// Returns the episodes that are on at a given time and end within a window, in order of end
    /// time and id.
    ///
    /// Throws `ModelError` with `.usage` if the window is negative or too long.
    ///
    /// - Parameter windowSeconds: The number of seconds before the end of an episode during which
    ///   the episode counts as ending soon.
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

    /// Returns whether all known episodes, of any channel, begin before the given time.
    private func isLast(_ time: UTCTime) throws -> Bool {
        try reader.rows(
            of: projections.schedule, table: EpisodeSchedule.byStart,
            lower: RowKey().ascending(time.milliseconds), upper: nil, after: nil, limit: 1
        ).isEmpty
    }
}

/// Selects the episodes that are shown at a given time, and finds the time of the next change.
///
/// Episodes are added in the order of their start times.
struct EpisodesShown {
    /// The maximum length of a listed episode, in milliseconds; longer episodes are left out.
    static let lengthMax = QueryLimits.episodeHoursMax * 3_600_000

    let now: UTCTime
    /// The number of milliseconds before an episode's end during which the episode is shown; nil to
    /// show it from its start.
    private let window: Int64?
    private var episodes: [ListedEpisode] = []
    /// The time at which the shown episodes change, in milliseconds since 1970.
    var nextChangeAt: Int64?

    /// Creates a selection of the episodes that are on and, if `windowSeconds` is set, end within
    /// that number of seconds.
    init(at now: UTCTime, endingWithin windowSeconds: Double? = nil) {
        self.now = now
        window = windowSeconds.map { Int64($0 * 1_000) }
    }

    /// Adds the next episode, and returns false if neither it nor any later episode can affect the
    /// result.
    mutating func take(_ listed: ListedEpisode) -> Bool {
        // An episode that begins after the next change cannot cause an earlier change.
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

    /// The selected episodes, sorted by start time, or by end time if there is a window, and then
    /// by id.
    var entries: [ScheduleWeek.Episode] {
        let entries = episodes.map(\.entry)
        guard window != nil else { return entries }
        return entries.sorted { ($0.endsAt ?? now, $0.id) < ($1.endsAt ?? now, $1.id) }
    }
}
