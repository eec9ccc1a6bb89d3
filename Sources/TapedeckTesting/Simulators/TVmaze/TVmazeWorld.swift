internal import Tapedeck

/// The data of the TVmaze system; each table numbers its rows from 1.
public struct TVmazeWorld: Hashable, Sendable {
    /// A country, with the single time zone that the system assigns to it.
    public struct Country: Hashable, Sendable {
        /// The country's name.
        public var name: String
        /// The ISO 3166 code.
        public var code: String
        /// The time zone of the country's channels.
        public var timezone: String

        /// Creates a country.
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
        /// The channel's name.
        public var name: String
        /// The country; nil for a worldwide web channel.
        public var country: Country?
        /// Whether the channel is a web channel.
        public var isWeb: Bool

        /// Creates a channel.
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
        /// The show's name.
        public var name: String
        /// The network or web channel.
        public var channel: Channel
        /// The genres.
        public var genres: [String]
        /// The summary, in HTML.
        public var summary: String
        /// The length of an episode, in minutes.
        public var runtimeMinutes: Int
        /// The time of day at which episodes begin, `HH:MM`; empty if it is unknown.
        public var airtime: String
        /// The weekdays on which episodes are broadcast, from 0 for Monday.
        public var weekdays: [Int]
        /// The time of the last change, in seconds since 1970.
        public var updated: Int64

        /// Creates a show.
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
        /// The number of the show.
        public var show: Int
        /// The episode's name.
        public var name: String
        /// The season.
        public var season: Int
        /// The episode's number in the season; nil for specials.
        public var number: Int?
        /// The day to which the episode belongs, `YYYY-MM-DD`; an episode before 05:00 belongs to
        /// the previous day.
        public var airdate: String
        /// The time of day in the channel's time zone, `HH:MM`; empty if it is unknown.
        public var airtime: String
        /// The start time, in milliseconds since 1970; noon if the time of day is unknown.
        public var startsAt: Int64
        /// The length of the episode, in minutes.
        public var runtimeMinutes: Int
        /// The summary, in HTML; nil if there is none.
        public var summary: String?

        /// Creates an episode.
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

    /// A person's role in a show.
    public struct Role: Hashable, Sendable {
        /// The person's number.
        public var person: Int
        /// The person's name.
        public var personName: String
        /// The character's number.
        public var character: Int
        /// The character's name.
        public var characterName: String

        /// Creates a role.
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
    /// The cast of each show, in order, by the show's number.
    public var casts: [Int: [Role]] = [:]

    /// Creates an empty world.
    public init() {}

    // MARK: - Schedules

    /// Returns the episodes of a day, ordered by start time, then by number.
    ///
    /// An episode on a network is included if it begins on that day in the network's time zone. An
    /// episode on a web channel is included if its airdate is that day.
    ///
    /// - Parameter country: The country's code; nil for all countries.
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

    /// Returns the day that contains a time, in a channel's time zone.
    static func day(of time: Int64, _ channel: Channel, _ zones: inout ZoneCache) -> CalendarDay {
        let offset = zones.offsetSeconds(channel.country?.timezone, milliseconds: time)
        return CalendarDay(milliseconds: time, offsetSeconds: offset)
    }

    /// Converts a day and a time of day in a channel's time zone to milliseconds since 1970.
    static func time(
        on day: CalendarDay, minutes: Int, _ channel: Channel, _ zones: inout ZoneCache
    ) -> Int64 {
        let local = day.startMilliseconds + Int64(minutes) * SimulatedTime.minuteMilliseconds
        let zone = channel.country?.timezone
        func utc(_ guess: Int64) -> Int64 {
            local - Int64(zones.offsetSeconds(zone, milliseconds: guess)) * 1_000
        }
        // The first pass uses the offset that applies at the local time interpreted as UTC; the
        // second pass uses the offset that applies at the resulting time.
        return utc(utc(local))
    }
}
