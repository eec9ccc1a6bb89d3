internal import TapedeckModel
internal import TapedeckProjections

/// The episodes of an ISO week, day by day.
public struct ScheduleWeek: Codable, Hashable, Sendable {
    /// A calendar day.
    public struct Day: Codable, Hashable, Sendable {
        /// `YYYY-MM-DD`.
        public var date: String
        /// What begins on this day in its channel's own zone, by beginning, then by id.
        public var episodes: [Episode]
    }

    /// An episode.
    public struct Episode: Codable, Hashable, Sendable {
        /// TVmaze's id.
        public var id: Int64
        /// The name of its show.
        @NullWhenNil public var show: String?
        /// TVmaze's id of its show.
        public var showId: Int64
        /// Its name.
        @NullWhenNil public var name: String?
        /// Its season.
        @NullWhenNil public var season: Int64?
        /// Its number in the season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// When it begins.
        public var startsAt: UTCTime
        /// Whether the time of day is known; if not, `startsAt` is TVmaze's noon of that day.
        public var timeKnown: Bool
        /// When it ends, by its own length, else by its show's; nil where its time of day or its length is
        /// not known.
        @NullWhenNil public var endsAt: UTCTime?
        /// How long it is.
        @NullWhenNil public var runtimeMinutes: Int?
        /// The name of the network or web channel for whose sake it is listed.
        @NullWhenNil public var network: String?
        /// The address of its picture, else of its show's.
        @NullWhenNil public var image: String?
        /// What it is about, as plain text.
        @NullWhenNil public var summary: String?
    }

    /// Seven days, Monday to Sunday.
    public var days: [Day]
    /// When the next week begins, where the week is that of a time; nil where it was named.
    @NullWhenNil public var nextChangeAt: UTCTime?
}

extension VideoQueries {
    /// The schedule of an ISO week, Monday to Sunday.
    ///
    /// A day is the calendar day in the channel's own zone, on which clocks change when they change
    /// there; a channel without a country, or with a zone that this machine does not know, counts
    /// by UTC. What a whole listing of its day has no more is cancelled, and not listed.
    ///
    /// - Parameter week: any day of the week, `YYYY-MM-DD`.
    ///
    /// Throws `ModelError` with `.invalidTime` where `week` is no day, or its week is not over by the end of
    /// the year 9999.
    public func schedule(week: String, scope: ScheduleScope) throws -> ScheduleWeek {
        try schedule(monday: CalendarDay(week: week), scope)
    }

    /// The schedule of the ISO week that a time is in, and when the next one begins.
    ///
    /// The week turns at midnight in the zone of most episodes of these channels around then; by UTC where
    /// none is known. Throws `ModelError` with `.invalidTime` where it is not over by the end of the year 9999.
    public func schedule(at now: UTCTime, scope: ScheduleScope) throws -> ScheduleWeek {
        var zones = WeekZones(at: now)
        try forEachEpisode(from: zones.span.lower, to: zones.span.upper, scope) { listed in
            zones.count(listed)
            return true
        }
        let (monday, turn) = zones.current
        try monday.checkWeek()
        var schedule = try schedule(monday: monday, scope)
        schedule.nextChangeAt = UTCTime(milliseconds: turn)
        return schedule
    }

    private func schedule(monday: CalendarDay, _ scope: ScheduleScope) throws -> ScheduleWeek {
        var days = (0..<7).map {
            ScheduleWeek.Day(date: monday.adding($0).description, episodes: [])
        }
        let span = ScheduleQuery.span(ofWeek: monday)
        try forEachEpisode(from: span.lower, to: span.upper, scope) { listed in
            let index = listed.day.number - monday.number
            if days.indices.contains(index) { days[index].episodes.append(listed.entry) }
            return true
        }
        return ScheduleWeek(days: days)
    }
}

extension CalendarDay {
    /// The Monday of the week that a day is in; throws `ModelError` with `.invalidTime` where it is none, or
    /// the week is not over by the last day.
    init(week text: String) throws(ModelError) {
        guard let day = CalendarDay(text) else {
            throw ModelError(
                .invalidTime, "\"\(text.prefix(20))\" is not a day", hint: "write 2019-07-11")
        }
        self = day.monday
        try checkWeek()
    }

    /// Throws `ModelError` with `.invalidTime` where the week that begins here is not over by the last day.
    func checkWeek() throws(ModelError) {
        guard adding(6) <= CalendarDay.last else {
            throw ModelError(
                .invalidTime, "the week of \(self) ends behind \(CalendarDay.last)",
                hint: "name a day of an earlier week")
        }
    }
}

extension ScheduleQuery {
    /// When the episodes of a week begin, wherever they do.
    static func span(ofWeek monday: CalendarDay) -> (lower: UTCTime, upper: UTCTime) {
        // No zone is further than 14 hours east or 12 hours west of Greenwich.
        (
            UTCTime(milliseconds: monday.startMilliseconds - 14 * 3_600_000),
            UTCTime(milliseconds: monday.adding(7).startMilliseconds + 12 * 3_600_000)
        )
    }
}

/// In which zones the episodes around a time are, and which week it is by most of them.
struct WeekZones {
    private static let week = 7 * ScheduleQuery.dayMilliseconds

    let now: UTCTime
    private var counts: [String?: Int] = [:]
    /// When the first episode enters or leaves `span`, in Unix milliseconds.
    private var nextCountAt: Int64?
    private var zones = ZoneCache()

    init(at now: UTCTime) { self.now = now }

    /// The beginnings of those that count: a week before, and a week behind.
    var span: (lower: UTCTime, upper: UTCTime) {
        (now.adding(-WeekZones.week), now.adding(WeekZones.week))
    }

    /// Counts an episode if it begins in the span.
    mutating func count(_ listed: ListedEpisode) {
        let zone = listed.channel.zone
        counts[zone, default: 0] +=
            (span.lower.milliseconds..<span.upper.milliseconds).contains(listed.start) ? 1 : 0
        for time in [listed.start - WeekZones.week + 1, listed.start + WeekZones.week + 1]
        where time > now.milliseconds { nextCountAt = min(nextCountAt ?? .max, time) }
    }

    /// The Monday of the week, and when the next week begins, in Unix milliseconds.
    var current: (monday: CalendarDay, turn: Int64) {
        mutating get {
            let most = counts.filter { $0.value > 0 }
                .max { ($0.value, $1.key ?? "") < ($1.value, $0.key ?? "") }
            return week(in: most?.key ?? nil)
        }
    }

    /// When the week may be another by the time alone, in Unix milliseconds: where it is the same in all of the
    /// zones it does not matter which of them most episodes are in.
    var nextChangeAt: Int64 {
        mutating get {
            let weeks = Set(counts.keys).union([nil]).map { week(in: $0) }
            let turn = weeks.map(\.turn).min() ?? .max
            let isOneWeek = Set(weeks.map(\.monday)).count == 1
            return isOneWeek ? turn : min(turn, nextCountAt ?? .max)
        }
    }

    private mutating func week(in zone: String?) -> (monday: CalendarDay, turn: Int64) {
        let offset = zones.offsetSeconds(zone, milliseconds: now.milliseconds)
        let monday = CalendarDay(milliseconds: now.milliseconds, offsetSeconds: offset).monday
        return (monday, zones.start(of: monday.adding(7), zone))
    }
}
