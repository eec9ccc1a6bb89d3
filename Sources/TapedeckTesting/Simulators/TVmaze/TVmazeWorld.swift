internal import Tapedeck

/// What TVmaze's system holds; ids are numbers from 1 in each table.
public struct TVmazeWorld: Hashable, Sendable {
    /// A country, with the one zone that the system has for it.
    public struct Country: Hashable, Sendable {
        /// What it is called.
        public var name: String
        /// Its code by ISO 3166.
        public var code: String
        /// The zone of its channels.
        public var timezone: String

        /// Makes a country.
        public init(name: String, code: String, timezone: String) {
            self.name = name
            self.code = code
            self.timezone = timezone
        }
    }

    /// A network or a web channel.
    public struct Channel: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// What it is called.
        public var name: String
        /// Where it is; nil for a web channel of the whole world.
        public var country: Country?
        /// Whether it is a web channel.
        public var isWeb: Bool

        /// Makes a channel.
        public init(id: Int, name: String, country: Country?, isWeb: Bool = false) {
            self.id = id
            self.name = name
            self.country = country
            self.isWeb = isWeb
        }
    }

    /// A show.
    public struct Show: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// What it is called.
        public var name: String
        /// Where it is on.
        public var channel: Channel
        /// What kind of show it is.
        public var genres: [String]
        /// What it is about, in HTML.
        public var summary: String
        /// How long its episodes are.
        public var runtimeMinutes: Int
        /// When it is on, `HH:MM`; empty where nobody knows.
        public var airtime: String
        /// The days on which it is on, from 0 for Monday.
        public var weekdays: [Int]
        /// When it was changed last, in Unix seconds.
        public var updated: Int64

        /// Makes a show.
        public init(
            id: Int, name: String, channel: Channel, genres: [String] = [], summary: String = "",
            runtimeMinutes: Int = 60, airtime: String = "20:00", weekdays: [Int] = [0],
            updated: Int64
        ) {
            self.id = id
            self.name = name
            self.channel = channel
            self.genres = genres
            self.summary = summary
            self.runtimeMinutes = runtimeMinutes
            self.airtime = airtime
            self.weekdays = weekdays
            self.updated = updated
        }
    }

    /// An episode.
    public struct Episode: Hashable, Sendable {
        /// The row's number.
        public var id: Int
        /// The show that it is of.
        public var show: Int
        /// What it is called.
        public var name: String
        /// Its season.
        public var season: Int
        /// Its number in the season; nil for specials.
        public var number: Int?
        /// The day that it counts to, `YYYY-MM-DD`: nights count to the day before.
        public var airdate: String
        /// The time of day in its channel's zone, `HH:MM`; empty where nobody knows.
        public var airtime: String
        /// When it begins, in Unix milliseconds; noon where the time of day is not known.
        public var startsAt: Int64
        /// How long it is.
        public var runtimeMinutes: Int
        /// What it is about, in HTML; nil where nobody has said.
        public var summary: String?

        /// Makes an episode.
        public init(
            id: Int, show: Int, name: String, season: Int = 1, number: Int? = 1, airdate: String,
            airtime: String = "20:00", startsAt: Int64, runtimeMinutes: Int = 60,
            summary: String? = nil
        ) {
            self.id = id
            self.show = show
            self.name = name
            self.season = season
            self.number = number
            self.airdate = airdate
            self.airtime = airtime
            self.startsAt = startsAt
            self.runtimeMinutes = runtimeMinutes
            self.summary = summary
        }
    }

    /// Somebody who plays somebody.
    public struct Role: Hashable, Sendable {
        /// The person's number.
        public var person: Int
        /// What the person is called.
        public var personName: String
        /// The character's number.
        public var character: Int
        /// What the character is called.
        public var characterName: String

        /// Makes a role.
        public init(person: Int, personName: String, character: Int, characterName: String) {
            self.person = person
            self.personName = personName
            self.character = character
            self.characterName = characterName
        }
    }

    /// The shows, by their numbers.
    public var shows: [Int: Show] = [:]
    /// The episodes, by their numbers.
    public var episodes: [Int: Episode] = [:]
    /// Who plays in a show, in order.
    public var casts: [Int: [Role]] = [:]

    /// Makes an empty world, to be filled by hand.
    public init() {}

    // MARK: - Schedules

    /// The episodes of a day, by beginning, then by number.
    ///
    /// Networks list what begins on the day in their zone, web channels what counts to it.
    ///
    /// - Parameter country: the country's code; nil for all.
    func schedule(of day: String, country: String?, isWeb: Bool) -> [Episode] {
        var zones = ZoneCache()
        return episodes.values.filter { episode in
            guard let channel = shows[episode.show]?.channel, channel.isWeb == isWeb,
                country == nil || channel.country?.code == country
            else { return false }
            return isWeb
                ? episode.airdate == day
                : TVmazeWorld.day(of: episode.startsAt, channel, &zones).description == day
        }.sorted { ($0.startsAt, $0.id) < ($1.startsAt, $1.id) }
    }

    /// The day of a time in a channel's zone.
    static func day(of time: Int64, _ channel: Channel, _ zones: inout ZoneCache) -> CalendarDay {
        let offset = zones.offsetSeconds(channel.country?.timezone, milliseconds: time)
        return CalendarDay(milliseconds: time, offsetSeconds: offset)
    }

    /// When a time of day is on a day in a channel's zone, in Unix milliseconds.
    static func time(
        on day: CalendarDay, minutes: Int, _ channel: Channel, _ zones: inout ZoneCache
    ) -> Int64 {
        let local = day.startMilliseconds + Int64(minutes) * SimulatedTime.minuteMilliseconds
        let zone = channel.country?.timezone
        func utc(_ guess: Int64) -> Int64 {
            local - Int64(zones.offsetSeconds(zone, milliseconds: guess)) * 1_000
        }
        // The offset is that of the moment, and not that of its name read as UTC.
        return utc(utc(local))
    }
}
