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
    /// Throws `ModelError` with `.invalidTime` where `week` is no day.
    public func schedule(week: String, scope: ScheduleScope) throws -> ScheduleWeek {
        guard let day = CalendarDay(week) else {
            throw ModelError(
                .invalidTime, "\"\(week.prefix(20))\" is not a day", hint: "write 2019-07-11")
        }
        return try schedule(monday: day.monday, scope)
    }

    /// The schedule of the ISO week that a time is in, and when the next one begins.
    ///
    /// The week turns at midnight in the zone of most episodes of these channels around then; by UTC where
    /// none is known.
    public func schedule(at now: UTCTime, scope: ScheduleScope) throws -> ScheduleWeek {
        let week = 7 * ScheduleQuery.dayMilliseconds
        var counts: [String?: Int] = [:]
        try forEachEpisode(from: now.adding(-week), to: now.adding(week), scope) { listed in
            counts[listed.channel.hasTimezone ? listed.channel.timezone : nil, default: 0] += 1
            return true
        }
        let most = counts.max { ($0.value, $1.key ?? "") < ($1.value, $0.key ?? "") }
        let zone = most?.key ?? nil
        var zones = ZoneCache()
        let offset = zones.offsetSeconds(zone, milliseconds: now.milliseconds)
        let today = CalendarDay(milliseconds: now.milliseconds, offsetSeconds: offset)
        var schedule = try schedule(monday: today.monday, scope)
        schedule.nextChangeAt = UTCTime(
            milliseconds: zones.start(of: today.monday.adding(7), zone))
        return schedule
    }

    private func schedule(monday: CalendarDay, _ scope: ScheduleScope) throws -> ScheduleWeek {
        var days = (0..<7).map {
            ScheduleWeek.Day(date: monday.adding($0).description, episodes: [])
        }
        // No zone is further than 14 hours east or 12 hours west of Greenwich.
        let lower = UTCTime(milliseconds: monday.startMilliseconds - 14 * 3_600_000)
        let upper = UTCTime(milliseconds: monday.adding(7).startMilliseconds + 12 * 3_600_000)
        try forEachEpisode(from: lower, to: upper, scope) { listed in
            let index = listed.day.number - monday.number
            if days.indices.contains(index) { days[index].episodes.append(listed.entry) }
            return true
        }
        return ScheduleWeek(days: days)
    }
}
