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
    /// The longest episode that is ever on, in hours.
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
        try shown(EpisodesShown(at: now), scope)
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

    /// Whether no episode of any channel begins at a time or later.
    private func isLast(_ time: UTCTime) throws -> Bool {
        try reader.rows(
            of: projections.schedule, table: EpisodeSchedule.byStart,
            lower: RowKey().ascending(time.milliseconds), upper: nil, after: nil, limit: 1
        ).isEmpty
    }
}

/// Which of the episodes that come by their beginnings are shown at a time, and until when these are.
struct EpisodesShown {
    /// The longest episode that is found to be on, in milliseconds.
    static let lengthMax = QueryLimits.episodeHoursMax * 3_600_000

    let now: UTCTime
    /// How long before its end an episode is shown, in milliseconds; nil from its beginning on.
    private let window: Int64?
    private var episodes: [ListedEpisode] = []
    /// When others are shown, by these episodes, in Unix milliseconds.
    var nextChangeAt: Int64?

    /// Those that are on; or of these those that end within so many seconds.
    init(at now: UTCTime, endingWithin windowSeconds: Double? = nil) {
        self.now = now
        window = windowSeconds.map { Int64($0 * 1_000) }
    }

    /// Takes the next one; false where neither it nor any behind it matters.
    mutating func take(_ listed: ListedEpisode) -> Bool {
        // What begins later than the next change cannot be before it.
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

    /// Those that are shown, by beginning, or by end where these end soon; then by id.
    var entries: [ScheduleWeek.Episode] {
        let entries = episodes.map(\.entry)
        guard window != nil else { return entries }
        return entries.sorted { ($0.endsAt ?? now, $0.id) < ($1.endsAt ?? now, $1.id) }
    }
}
