public import TapedeckProjections

internal import TapedeckModel

/// An episode in the schedule of a week, with its day.
public struct DatedEpisode: Codable, Hashable, Sendable {
    /// The calendar day on which the episode begins in the channel's time zone, as `YYYY-MM-DD`.
    public var date: String
    /// The episode.
    public var episode: ScheduleWeek.Episode

    package init(date: String, episode: ScheduleWeek.Episode) {
        (self.date, self.episode) = (date, episode)
    }
}

/// A row of a live schedule: an episode, or the complete listing of a day.
public struct ScheduleRow: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case episode(EpisodeScheduled, ShowObserved, TVmazeChannel)
        case listing(CalendarDay, ScheduleListings.State)
        /// An episode or listing outside the scope.
        case nothing
    }

    let kind: Kind
}

extension LiveArrangement where Self == ArrangedList<ScheduleRow, ScheduleWeek.Episode> {
    /// The episodes that are on now, updated as time passes; see `VideoQueries.onNow`.
    ///
    /// The rows of four days are kept in memory, and are read again at the start of each UTC day.
    public static func onNow(
        scope: ScheduleScope, projections: VideoProjections = .standard
    ) -> Self {
        shown(scope, projections) { EpisodesShown(at: $0) }
    }

    /// The episodes that end soon, updated as time passes; see `VideoQueries.endingSoon` and
    /// `onNow(scope:projections:)`.
    ///
    /// Throws `ModelError` with `.usage` if the window is negative or too long.
    public static func endingSoon(
        scope: ScheduleScope, windowSeconds: Double = QueryLimits.endingSoonSeconds,
        projections: VideoProjections = .standard
    ) throws -> Self {
        try QueryLimits.check(windowSeconds: windowSeconds)
        return shown(scope, projections) { EpisodesShown(at: $0, endingWithin: windowSeconds) }
    }

    private static func shown(
        _ scope: ScheduleScope, _ projections: VideoProjections,
        _ begin: @escaping @Sendable (UTCTime) -> EpisodesShown
    ) -> Self {
        // Every episode that is on now began at most two days ago.
        let source = ScheduleRows(scope, projections, daysBefore: 2, daysAhead: 2)
        return Self(of: source.rows, by: { String($0.id) }) { rows, _, now in
            var shown = begin(now)
            for listed in ListedEpisode.listed(rows) where !shown.take(listed) { break }
            let turn = ScheduleRows.nextDay(now.milliseconds)
            return LiveArranged(
                shown.entries, nextChangeAt: min(shown.nextChangeAt ?? .max, turn))
        }
    }
}

extension LiveArrangement where Self == ArrangedList<ScheduleRow, DatedEpisode> {
    /// The schedule of an ISO week, day by day; see `VideoQueries.schedule`.
    ///
    /// Throws `ModelError` with `.invalidTime` if `week` is not a date, or if its week ends after
    /// the year 9999.
    ///
    /// - Parameter week: A date in the week, as `YYYY-MM-DD`; nil to follow the current week. For
    ///   nil, the rows of 19 days are kept in memory, and are read again at the start of each UTC
    ///   day.
    public static func schedule(
        week: String? = nil, scope: ScheduleScope, projections: VideoProjections = .standard
    ) throws -> Self {
        let named = try week.map { try CalendarDay(week: $0) }
        // The episodes up to one week before and one week after `now` determine the time zone in
        // which the week changes.
        let source = ScheduleRows(scope, projections, daysBefore: 9, daysAhead: 10)
        return Self(
            of: { now in
                guard let named else { return source.rows(at: now) }
                let span = ScheduleQuery.span(ofWeek: named)
                return source.rows(from: span.lower.milliseconds, to: span.upper.milliseconds)
            }, by: { String($0.episode.id) }
        ) { rows, _, now in
            let episodes = ListedEpisode.listed(rows)
            var zones = WeekZones(at: now)
            if named == nil { for listed in episodes { zones.count(listed) } }
            let monday = named ?? zones.current.monday
            let ofWeek = episodes.filter { (0..<7).contains($0.day.number - monday.number) }
            let dated = (0..<7).flatMap { index in
                let day = monday.adding(index)
                return ofWeek.filter { $0.day == day }.map {
                    DatedEpisode(date: day.description, episode: $0.entry)
                }
            }
            guard named == nil else { return LiveArranged(dated) }
            return LiveArranged(
                dated,
                nextChangeAt: min(zones.nextChangeAt, ScheduleRows.nextDay(now.milliseconds)))
        }
    }
}

extension ListedEpisode {
    /// Returns the episodes in the given rows, except cancelled ones, in order of start time and
    /// id.
    fileprivate static func listed(_ rows: [ScheduleRow]) -> [ListedEpisode] {
        var listings = DayListings()
        for case .listing(let day, let listing) in rows.map(\.kind) {
            listings.add(listing, of: day)
        }
        var zones = ZoneCache()
        return rows.compactMap { row in
            guard case .episode(let episode, let show, let channel) = row.kind else { return nil }
            return ListedEpisode(episode, show, channel, listings, &zones)
        }
    }
}

/// The rows of episodes and listings around a time.
private struct ScheduleRows: Sendable {
    /// The rows are limited by time, not by number.
    private static let limit = Int.max - 1

    private let scope: ScheduleScope
    private let projections: VideoProjections
    private let daysBefore: Int64
    private let daysAhead: Int64

    init(
        _ scope: ScheduleScope, _ projections: VideoProjections, daysBefore: Int64,
        daysAhead: Int64
    ) {
        (self.scope, self.projections) = (scope, projections)
        (self.daysBefore, self.daysAhead) = (daysBefore, daysAhead)
    }

    /// Returns the start of the next day in UTC, in milliseconds since 1970.
    static func nextDay(_ now: Int64) -> Int64 {
        let day = ScheduleQuery.dayMilliseconds
        return (now.floorDivided(by: day) + 1) * day
    }

    @Sendable func rows(at now: Int64) -> LiveList<ScheduleRow> {
        let day = ScheduleQuery.dayMilliseconds
        let today = ScheduleRows.nextDay(now) - day
        return rows(from: today - daysBefore * day, to: today + daysAhead * day)
    }

    /// Returns the rows in a span of time.
    ///
    /// - Parameters:
    ///   - lower: The start of the span, in milliseconds since 1970.
    ///   - upper: The end of the span, exclusive, in milliseconds since 1970.
    func rows(from lower: Int64, to upper: Int64) -> LiveList<ScheduleRow> {
        let scope = scope
        let episodes = LiveList<ScheduleRow>.Part(
            RowRange(
                of: projections.schedule, table: EpisodeSchedule.byStart,
                from: RowKey().ascending(lower), below: RowKey().ascending(upper)), prefix: 8
        ) { row, queries, _ in
            let episode = try EpisodeScheduled(payload: row.value)
            let show = try queries.knownShow(episode.show)
            let kind = scope.channel(of: show).map { ScheduleRow.Kind.episode(episode, show, $0) }
            return LiveEntry(
                ScheduleRow(kind: kind ?? .nothing), keys: [Tag(unchecked: "show/\(episode.show)")])
        }
        let days = ScheduleQuery.days(from: lower, to: upper)
        let listings = LiveList<ScheduleRow>.Part(
            RowRange(
                of: projections.listings, from: ScheduleListings.rowKey(days.first),
                below: ScheduleListings.rowKey(days.last.adding(1)))
        ) { row, queries, _ in
            let found = try queries.listing(row).map {
                ScheduleRow.Kind.listing($0.day, $0.listing)
            }
            return LiveEntry(ScheduleRow(kind: found ?? .nothing))
        }
        return LiveList(
            [episodes, listings], details: [(RowRange(keysOf: projections.shows), nil)],
            limit: ScheduleRows.limit, projections)
    }
}
