internal import Tapedeck

extension TVmazeWorld {
    /// The number of scheduled weeks before and after the week of `now`.
    static let weeksBefore = 1
    static let weeksBehind = 5

    /// Generates a world as of `now`.
    ///
    /// The world has 24 shows on networks in the United States, the United Kingdom and Germany, and
    /// on web channels, some of them worldwide. There are daily shows, shows at night, specials
    /// without a number, episodes without a time of day, and casts, some of them empty.
    public init(seed: UInt64, at now: Int64) {
        self.init()
        var random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x7E1E))
        var zones = ZoneCache()
        let channels = TVmazeWorld.channels
        for number in 1...24 {
            let channel = channels[number % channels.count]
            let show = TVmazeWorld.show(number, on: channel, at: now, &random)
            shows[number] = show
            casts[number] = number.isMultiple(of: 9) ? [] : roles(of: number, &random)
            fill(show, around: now, &zones, &random)
        }
    }

    private static let channels: [Channel] = {
        let us = Country(name: "United States", code: "US", timezone: "America/New_York")
        let gb = Country(name: "United Kingdom", code: "GB", timezone: "Europe/London")
        let de = Country(name: "Germany", code: "DE", timezone: "Europe/Busingen")
        return [
            Channel(id: 1, name: "Channel One", country: us),
            Channel(id: 2, name: "Harbour TV", country: us),
            Channel(id: 3, name: "Albion 1", country: gb),
            Channel(id: 4, name: "Orchestra", country: us),
            Channel(id: 5, name: "Café", country: nil, isWeb: true),
            Channel(id: 6, name: "Bridge News", country: us),
            Channel(id: 7, name: "Signal", country: us, isWeb: true),
            Channel(id: 8, name: "Rocket Zwei", country: de),
            Channel(id: 9, name: "Winter", country: us),
            Channel(id: 10, name: "Fluss", country: de, isWeb: true),
        ]
    }()

    private static func show(
        _ number: Int, on channel: Channel, at now: Int64, _ random: inout SeededGenerator
    ) -> Show {
        let title = SimulatedTexts.title(&random)
        let times = ["20:00", "21:00", "19:30", "01:30", "22:15", "08:00"]
        let genres = [["Drama"], ["Comedy", "Family"], [], ["Crime", "Drama"], ["Nature"]]
        return Show(
            id: number, name: title, channel: channel, genres: genres[number % genres.count],
            summary: "<p>All about <b>\(title)</b> &amp; those who live there.</p>",
            runtimeMinutes: [30, 60, 45][number % 3],
            airtime: channel.isWeb ? "" : times[number % times.count],
            weekdays: number.isMultiple(of: 7) ? Array(0..<5) : [random.below(7)],
            updated: now / 1_000 - Int64(random.below(30 * 86_400 as UInt64)))
    }

    private mutating func fill(
        _ show: Show, around now: Int64, _ zones: inout ZoneCache, _ random: inout SeededGenerator
    ) {
        let monday = TVmazeWorld.day(of: now, show.channel, &zones).monday
        var number = 0
        for week in -TVmazeWorld.weeksBefore...TVmazeWorld.weeksBehind {
            for weekday in show.weekdays {
                number += 1
                let isSpecial = random.oneIn(12)
                insert(
                    of: show, SimulatedTexts.title(&random), season: 1 + show.id % 4,
                    number: isSpecial ? nil : number,
                    on: monday.adding(7 * week + weekday),
                    summary: random.oneIn(3)
                        ? nil : "<p>\(SimulatedTexts.comment(&random)).</p>", &zones)
            }
        }
    }

    private mutating func roles(of show: Int, _ random: inout SeededGenerator) -> [Role] {
        (0..<2 + random.below(4)).map { place in
            let number = 1 + random.below(ActivityTexts.people.count)
            return Role(
                person: number, personName: SimulatedTexts.person(number - 1).capitalized,
                character: show * 100 + place, characterName: SimulatedTexts.title(&random))
        }
    }

    /// Schedules an episode on a day at its show's time, and returns the episode's number.
    @discardableResult
    mutating func insert(
        of show: Show, _ name: String, season: Int, number: Int?, on airdate: CalendarDay,
        summary: String?, _ zones: inout ZoneCache
    ) -> Int {
        let id = (episodes.keys.max() ?? 0) + 1
        let minutes = TVmazeWorld.minutes(show.airtime)
        // Episodes before 05:00 belong to the previous day.
        let isNight = minutes.map { $0 < 5 * 60 } ?? false
        episodes[id] = Episode(
            id: id, show: show.id, name: name, season: season, number: number,
            airdate: airdate.description, airtime: show.airtime,
            startsAt: TVmazeWorld.time(
                on: isNight ? airdate.adding(1) : airdate, minutes: minutes ?? 12 * 60,
                show.channel, &zones),
            runtimeMinutes: show.runtimeMinutes, summary: summary)
        return id
    }

    private static func minutes(_ airtime: String) -> Int? {
        let parts = airtime.split(separator: ":").compactMap { Int($0) }
        return parts.count == 2 ? parts[0] * 60 + parts[1] : nil
    }
}
