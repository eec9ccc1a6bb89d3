internal import Foundation
public import TapedeckModel
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
}

/// Which channels a schedule lists.
public struct ScheduleScope: Hashable, Sendable {
    /// The country's code by ISO 3166; nil for every country.
    public let country: String?
    /// Whether networks count.
    public let networks: Bool
    /// Whether web channels count.
    public let webChannels: Bool

    /// The country where none is named.
    public static let countryDefault = "US"

    /// Makes a scope as the options of `storectl query schedule` mean it.
    ///
    /// - Parameters:
    ///   - country: a code such as `US`; nil is `countryDefault`, or with `web` every country.
    ///   - web: web channels only.
    ///   - includeWeb: the country's web channels beside its networks.
    ///
    /// Throws `ModelError` with `.usage` for a country that is not two letters.
    public init(country: String? = nil, web: Bool = false, includeWeb: Bool = false)
        throws(ModelError)
    {
        if let country {
            guard country.utf8.count == 2, country.utf8.allSatisfy(VideoKey.isLetterOrDigit) else {
                throw ModelError(
                    .usage, "\"\(country.prefix(20))\" is not a country's code",
                    hint: "give two letters, such as US")
            }
        }
        self.country = country?.uppercased() ?? (web ? nil : ScheduleScope.countryDefault)
        networks = !web
        webChannels = web || includeWeb
    }

    /// The channel for whose sake a show is listed, or nil.
    ///
    /// A show on both a network and a web channel is listed for its network, where networks count.
    func channel(of show: ShowObserved) -> TVmazeChannel? {
        if networks, show.hasNetwork, covers(show.network) { return show.network }
        if webChannels, show.hasWebChannel, covers(show.webChannel) { return show.webChannel }
        return nil
    }

    private func covers(_ channel: TVmazeChannel) -> Bool {
        country == nil || channel.countryCode == country
    }
}

extension VideoQueries {
    /// The schedule of an ISO week, Monday to Sunday.
    ///
    /// A day is the calendar day in the channel's own zone, on which clocks change when they change
    /// there; a channel without a country, or with a zone that this machine does not know, counts
    /// by UTC.
    ///
    /// - Parameter week: any day of the week, `YYYY-MM-DD`.
    ///
    /// Throws `ModelError` with `.invalidTime` where `week` is no day.
    public func schedule(week: String, scope: ScheduleScope) throws -> ScheduleWeek {
        guard let day = CalendarDay(week) else {
            throw ModelError(
                .invalidTime, "\"\(week.prefix(20))\" is not a day", hint: "write 2019-07-11")
        }
        let monday = day.monday
        var days = (0..<7).map {
            ScheduleWeek.Day(date: monday.adding($0).description, episodes: [])
        }
        var shows: [Int64: ShowObserved] = [:]
        var zones = ZoneCache()
        // No zone is further than 14 hours east or 12 hours west of Greenwich.
        let lower = RowKey().ascending(monday.startMilliseconds - 14 * 3_600_000)
        let upper = RowKey().ascending(monday.adding(7).startMilliseconds + 12 * 3_600_000)
        var after: [UInt8]?
        while true {
            let rows = try reader.rows(
                of: projections.schedule, table: EpisodeSchedule.byStart, lower: lower,
                upper: upper, after: after, limit: 1_000)
            for row in rows {
                let episode = try EpisodeScheduled(payload: row.value, version: 1)
                let show = try shows[episode.show] ?? show(of: episode)
                shows[episode.show] = show
                guard let channel = scope.channel(of: show) else { continue }
                let start = episode.airstamp.milliseconds
                let offset = zones.offsetSeconds(channel, milliseconds: start)
                let date = CalendarDay(milliseconds: start, offsetSeconds: offset)
                let index = date.number - monday.number
                guard days.indices.contains(index) else { continue }
                days[index].episodes.append(
                    ScheduleWeek.Episode(episode, of: show, on: channel))
            }
            guard rows.count == 1_000, let last = rows.last else { break }
            after = last.key
        }
        return ScheduleWeek(days: days)
    }

    private func show(of episode: EpisodeScheduled) throws -> ShowObserved {
        let tag = Tag(unchecked: "show/\(episode.show)")
        return try reader.state(of: projections.shows, key: tag)?.show ?? ShowObserved()
    }
}

extension ScheduleWeek.Episode {
    fileprivate init(
        _ episode: EpisodeScheduled, of show: ShowObserved, on channel: TVmazeChannel
    ) {
        id = episode.episode
        self.show = show.hasName ? show.name : nil
        showId = episode.show
        name = episode.hasName ? episode.name : nil
        season = episode.hasSeason ? Int64(episode.season) : nil
        number = episode.hasNumber ? Int64(episode.number) : nil
        startsAt = UTCTime(milliseconds: episode.airstamp.milliseconds)
        timeKnown = !episode.airtime.isEmpty
        runtimeMinutes = episode.hasRuntimeMinutes ? Int(episode.runtimeMinutes) : nil
        network = channel.hasName ? channel.name : nil
        image = episode.image.address ?? show.image.address
        summary = episode.hasSummary ? PlainText(html: episode.summary).text : nil
    }
}

/// The zones that a query met, by their names.
private struct ZoneCache {
    private var zones: [String: TimeZone] = [:]

    mutating func offsetSeconds(_ channel: TVmazeChannel, milliseconds: Int64) -> Int {
        guard channel.hasTimezone else { return 0 }
        if zones[channel.timezone] == nil {
            zones[channel.timezone] = TimeZone(identifier: channel.timezone) ?? .gmt
        }
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        return zones[channel.timezone]?.secondsFromGMT(for: date) ?? 0
    }
}
