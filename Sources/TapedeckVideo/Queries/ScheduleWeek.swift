internal import TapedeckModel
internal import TapedeckProjections

/// The episodes of an ISO week, day by day.
public struct ScheduleWeek: Codable, Hashable, Sendable {
    /// A calendar day.
    public struct Day: Codable, Hashable, Sendable {
        /// The date, as `YYYY-MM-DD`.
        public var date: String
        /// The episodes that begin on this day in their channels' time zones, in order of start
        /// time and id.
        public var episodes: [Episode]
    }

    /// An episode in a schedule.
    public struct Episode: Codable, Hashable, Sendable {
        /// The TVmaze id of the episode.
        public var id: Int64
        /// The name of the show.
        @NullWhenNil public var show: String?
        /// The TVmaze id of the show.
        public var showId: Int64
        /// The name of the episode.
        @NullWhenNil public var name: String?
        /// The number of the season.
        @NullWhenNil public var season: Int64?
        /// The number of the episode in its season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// The start time.
        public var startsAt: UTCTime
        /// Whether the time of day is known; if not, TVmaze sets `startsAt` to noon on that day.
        public var timeKnown: Bool
        /// The time at which the episode ends; nil if its time of day or its length is unknown.
        ///
        /// The end is computed from the length of the episode or, if that is unknown, from the
        /// usual length of the show's episodes.
        @NullWhenNil public var endsAt: UTCTime?
        /// The length of the episode in minutes.
        @NullWhenNil public var runtimeMinutes: Int?
        /// The name of the network or web channel under which the episode is listed.
        @NullWhenNil public var network: String?
        /// The URL of the episode's picture or, if there is none, of the show's picture.
        @NullWhenNil public var image: String?
        /// The summary, as plain text.
        @NullWhenNil public var summary: String?
    }

    /// The seven days, Monday to Sunday.
    public var days: [Day]
    /// The time at which the next week begins; nil if the week was given by date.
    @NullWhenNil public var nextChangeAt: UTCTime?
}

extension VideoQueries {
    /// Returns the schedule of an ISO week, Monday to Sunday.
    ///
    /// Days are calendar days in each channel's time zone, taking its clock changes into account.
    /// UTC is used for channels without a country, and for time zones that this machine does not
    /// know. Episodes that are missing from a newer complete listing of their day count as
    /// cancelled and are left out. Throws `ModelError` with `.invalidTime` if `week` is not a date,
    /// or if its week ends after the year 9999.
    ///
    /// - Parameter week: A date in the week, as `YYYY-MM-DD`.
    public func schedule(week: String, scope: ScheduleScope) throws -> ScheduleWeek {
        try schedule(monday: CalendarDay(week: week), scope)
    }

    /// Returns the schedule of the ISO week that contains a given time, and the start of the next
    /// week.
    ///
    /// A new week begins at midnight in one time zone: the zone in which most of the scope's
    /// episodes begin, counted from one week before `now` to one week after it. If there are no
    /// such episodes, a new week begins at midnight UTC. Throws `ModelError` with `.invalidTime` if
    /// the week ends after the year 9999.
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
    /// Creates the Monday of the week that contains a day.
    ///
    /// Throws `ModelError` with `.invalidTime` if the text is not a date, or if the week ends after
    /// the last supported day.
    init(week text: String) throws(ModelError) {
        guard let day = CalendarDay(text) else {
            throw ModelError(
                .invalidTime, "\"\(text.prefix(20))\" is not a date",
                hint: "use the format YYYY-MM-DD, such as 2019-07-11")
        }
        self = day.monday
        try checkWeek()
    }

    /// Throws `ModelError` with `.invalidTime` if the week that begins on this day ends after the
    /// last supported day.
    func checkWeek() throws(ModelError) {
        guard adding(6) <= CalendarDay.last else {
            throw ModelError(
                .invalidTime, "the week of \(self) ends after \(CalendarDay.last)",
                hint: "choose an earlier week")
        }
    }
}

extension ScheduleQuery {
    /// Returns the span of time in which the episodes of a week begin, in any time zone.
    static func span(ofWeek monday: CalendarDay) -> (lower: UTCTime, upper: UTCTime) {
        // All time zones are between UTC-12 and UTC+14.
        (
            UTCTime(milliseconds: monday.startMilliseconds - 14 * 3_600_000),
            UTCTime(milliseconds: monday.adding(7).startMilliseconds + 12 * 3_600_000)
        )
    }
}

/// The time zones of the episodes around a time, and the week that is current in the time zone with
/// the most episodes.
struct WeekZones {
    private static let week = 7 * ScheduleQuery.dayMilliseconds

    let now: UTCTime
    private var counts: [String?: Int] = [:]
    /// The time at which the next episode enters or leaves `span`, in milliseconds since 1970.
    private var nextCountAt: Int64?
    private var zones = ZoneCache()

    init(at now: UTCTime) { self.now = now }

    /// The range of start times of the counted episodes, from one week before `now` to one week
    /// after it.
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

    /// The Monday of the current week, and the start of the next week in milliseconds since 1970.
    var current: (monday: CalendarDay, turn: Int64) {
        mutating get {
            let most = counts.filter { $0.value > 0 }
                .max { ($0.value, $1.key ?? "") < ($1.value, $0.key ?? "") }
            return week(in: most?.key ?? nil)
        }
    }

    /// The time at which the week may change without new events, in milliseconds since 1970.
    ///
    /// If all of the time zones are in the same week, it does not matter which of them has the most
    /// episodes.
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
