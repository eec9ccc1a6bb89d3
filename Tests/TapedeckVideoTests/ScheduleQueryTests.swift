import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct ScheduleQueryTests {
    private static let newYork =
        #"{"id":1,"name":"NBC","countryCode":"US","timezone":"America/New_York"}"#
    private static let london =
        #"{"id":2,"name":"BBC","countryCode":"GB","timezone":"Europe/London"}"#
    private static let netflix = #"{"id":3,"name":"Netflix"}"#
    private static let hulu =
        #"{"id":4,"name":"Hulu","countryCode":"US","timezone":"America/New_York"}"#

    /// Returns shows 1 (US network), 2 (GB network), 3 (global web), 4 (US web) and 5 (US network
    /// and web).
    private func script() throws -> Script {
        var script = Script()
        let shows = [
            #""network":\#(Self.newYork)"#, #""network":\#(Self.london)"#,
            #""webChannel":\#(Self.netflix)"#, #""webChannel":\#(Self.hulu)"#,
            #""network":\#(Self.newYork),"webChannel":\#(Self.netflix)"#,
        ]
        for (index, show) in shows.enumerated() {
            try script.add(
                "ShowObserved",
                #"{"show":\#(index + 1),"updated":1,"name":"S\#(index + 1)",\#(show)}"#)
        }
        return script
    }

    private func add(
        _ script: inout Script, _ episode: Int, of show: Int, at airstamp: String,
        airtime: String = "20:00"
    ) throws {
        try script.add(
            "EpisodeScheduled",
            """
            {"show":\(show),"episode":\(episode),"airstamp":"\(airstamp)",
             "airtime":"\(airtime)"}
            """)
    }

    private func week(
        _ script: Script, _ day: String, country: String? = nil, web: Bool = false,
        includeWeb: Bool = false
    ) throws -> [String: [Int64]] {
        let scope = try ScheduleScope(country: country, web: web, includeWeb: includeWeb)
        let week = try queries(script.events).schedule(week: day, scope: scope)
        #expect(week.days.count == 7)
        return week.days.reduce(into: [:]) { days, day in
            if !day.episodes.isEmpty { days[day.date] = day.episodes.map(\.id) }
        }
    }

    @Test(arguments: ["2019-07-08", "2019-07-11", "2019-07-14"])
    func anyDaySelectsItsISOWeek(_ day: String) throws {
        let scope = try ScheduleScope()
        let week = try queries([]).schedule(week: day, scope: scope)
        #expect(
            week.days.map(\.date) == [
                "2019-07-08", "2019-07-09", "2019-07-10", "2019-07-11", "2019-07-12", "2019-07-13",
                "2019-07-14",
            ])
    }

    @Test func weekCanSpanTwoYears() throws {
        let week = try queries([]).schedule(week: "2020-01-01", scope: ScheduleScope())
        #expect(week.days.first?.date == "2019-12-30")
        #expect(week.days.last?.date == "2020-01-05")
    }

    @Test func daysFollowTheChannelsTimeZone() throws {
        var script = try script()
        // This episode begins at 01:30 on Thursday in New York.
        try add(&script, 1, of: 1, at: "2019-07-11T05:30:00Z")
        // This episode begins at 23:30 on Wednesday in New York, which is Thursday in UTC.
        try add(&script, 2, of: 1, at: "2019-07-11T03:30:00Z")
        // This episode begins at 00:30 on Friday in London, which is Thursday in UTC.
        try add(&script, 3, of: 2, at: "2019-07-11T23:30:00Z")
        #expect(try week(script, "2019-07-08") == ["2019-07-10": [2], "2019-07-11": [1]])
        #expect(try week(script, "2019-07-08", country: "gb") == ["2019-07-12": [3]])
    }

    @Test func weekEndsAtMidnightInTheChannelsZone() throws {
        var script = try script()
        try add(&script, 1, of: 1, at: "2019-07-08T03:59:59Z")
        try add(&script, 2, of: 1, at: "2019-07-08T04:00:00Z")
        try add(&script, 3, of: 1, at: "2019-07-15T03:59:59Z")
        try add(&script, 4, of: 1, at: "2019-07-15T04:00:00Z")
        #expect(try week(script, "2019-07-10") == ["2019-07-08": [2], "2019-07-14": [3]])
    }

    @Test func daysFollowLocalClockChanges() throws {
        var script = try script()
        // New York's clocks change on 2019-03-10 and 2019-11-03. Episodes begin at 23:30 local time
        // before and after each change.
        try add(&script, 1, of: 1, at: "2019-03-10T04:30:00Z")
        try add(&script, 2, of: 1, at: "2019-03-11T03:30:00Z")
        // This episode begins at 00:30 local time on Monday, which would still be Sunday in
        // standard time.
        try add(&script, 3, of: 1, at: "2019-03-11T04:30:00Z")
        try add(&script, 4, of: 1, at: "2019-11-03T03:30:00Z")
        try add(&script, 5, of: 1, at: "2019-11-04T04:30:00Z")
        #expect(
            try week(script, "2019-03-10") == ["2019-03-09": [1], "2019-03-10": [2]])
        #expect(try week(script, "2019-03-11") == ["2019-03-11": [3]])
        #expect(
            try week(script, "2019-11-01") == ["2019-11-02": [4], "2019-11-03": [5]])
    }

    @Test func channelsWithoutACountryUseUTC() throws {
        var script = try script()
        try add(&script, 1, of: 3, at: "2020-12-07T00:00:00Z", airtime: "")
        #expect(try week(script, "2020-12-07", web: true) == ["2020-12-07": [1]])
    }

    @Test func weekIncludesEpisodesInExtremeZones() throws {
        var script = Script()
        for (show, zone) in [(1, "Pacific/Kiritimati"), (2, "Etc/GMT+12")] {
            try script.add(
                "ShowObserved",
                #"{"show":\#(show),"network":{"id":1,"countryCode":"US","timezone":"\#(zone)"}}"#)
        }
        try add(&script, 1, of: 1, at: "2019-07-07T10:00:00Z")
        try add(&script, 2, of: 2, at: "2019-07-15T11:59:59Z")
        #expect(try week(script, "2019-07-08") == ["2019-07-08": [1], "2019-07-14": [2]])
    }

    @Test func episodesBefore1970AreScheduled() throws {
        var script = try script()
        try add(&script, 1, of: 2, at: "1963-11-23T17:15:00Z")
        #expect(try week(script, "1963-11-23", country: "GB") == ["1963-11-23": [1]])
    }

    @Test func unknownZonesUseUTC() throws {
        var script = Script()
        try script.add(
            "ShowObserved",
            #"{"show":1,"network":{"id":1,"countryCode":"US","timezone":"../../etc/passwd"}}"#)
        try add(&script, 1, of: 1, at: "2019-07-08T00:00:00Z")
        #expect(try week(script, "2019-07-08") == ["2019-07-08": [1]])
    }

    @Test func optionsSelectTheChannels() throws {
        var script = try script()
        for show in 1...5 { try add(&script, show, of: show, at: "2019-07-10T12:00:00Z") }
        let day = "2019-07-10"
        #expect(try week(script, day) == [day: [1, 5]])
        #expect(try week(script, day, country: "US", includeWeb: true) == [day: [1, 4, 5]])
        #expect(try week(script, day, web: true) == [day: [3, 4, 5]])
        #expect(try week(script, day, country: "US", web: true) == [day: [4]])
        #expect(try week(script, day, country: "GB", includeWeb: true) == [day: [2]])
        #expect(try week(script, day, country: "DE").isEmpty)
    }

    @Test func episodesAreOrderedByStartThenID() throws {
        var script = try script()
        try add(&script, 9, of: 1, at: "2019-07-10T12:00:00Z")
        try add(&script, 2, of: 1, at: "2019-07-10T12:00:00+00:00")
        try add(&script, 1, of: 1, at: "2019-07-10T12:00:01Z")
        #expect(try week(script, "2019-07-10") == ["2019-07-10": [2, 9, 1]])
    }

    @Test func rowsIncludeTheShowAndItsChannel() throws {
        var script = try script()
        try script.add(
            "EpisodeScheduled",
            #"""
            {"show":5,"episode":1,"showUpdated":3,"name":"Pilot","season":1,"number":2,"airtime":"",
             "airstamp":"2019-07-10T16:00:00Z","runtimeMinutes":44,
             "image":{"original":"http://i/o"},"summary":"<p>A &amp; B</p>"}
            """#)
        let networks = try queries(script.events).schedule(
            week: "2019-07-10", scope: ScheduleScope())
        let episode = try #require(networks.days[2].episodes.first)
        #expect(episode.show == "S5" && episode.name == "Pilot" && episode.network == "NBC")
        #expect(episode.season == 1 && episode.number == 2 && episode.runtimeMinutes == 44)
        #expect(episode.image == "http://i/o" && episode.summary == "A & B")
        #expect(!episode.timeKnown)
        let web = try queries(script.events).schedule(
            week: "2019-07-10", scope: ScheduleScope(web: true))
        #expect(web.days[2].episodes.first?.network == "Netflix")
    }

    @Test func movedEpisodeLeavesItsOldDay() throws {
        var script = try script()
        try script.add(
            "EpisodeScheduled",
            #"{"show":1,"episode":1,"showUpdated":9,"airstamp":"2019-07-12T16:00:00Z"}"#)
        try script.add(
            "EpisodeScheduled",
            #"{"show":1,"episode":1,"showUpdated":3,"airstamp":"2019-07-10T16:00:00Z"}"#)
        #expect(try week(script, "2019-07-10") == ["2019-07-12": [1]])
        try checkOrderDoesNotMatter(EpisodeSchedule(), script.events)
    }

    @Test func episodesWithoutAStartAreNotScheduled() throws {
        var script = try script()
        try script.add(
            "EpisodeScheduled",
            #"{"show":1,"episode":1,"showUpdated":1,"airstamp":"2019-07-10T16:00:00Z"}"#)
        try script.add(
            "EpisodeScheduled", #"{"show":1,"episode":1,"showUpdated":2,"cleared":["airstamp"]}"#)
        #expect(try week(script, "2019-07-10").isEmpty)
    }

    @Test(arguments: ["", "2019-7-1", "2019-02-30", "tomorrow", "2019-07-11T00:00:00Z"])
    func invalidDaysAreRefused(_ day: String) {
        let error = #expect(throws: ModelError.self) {
            try queries([]).schedule(week: day, scope: ScheduleScope())
        }
        #expect(error?.code == .invalidTime)
    }

    @Test(arguments: ["", "U", "USA", "é"])
    func invalidCountriesAreRefused(_ country: String) {
        let error = #expect(throws: ModelError.self) { try ScheduleScope(country: country) }
        #expect(error?.code == .usage)
    }
}
