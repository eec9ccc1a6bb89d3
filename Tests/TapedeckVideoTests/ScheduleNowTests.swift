import SwiftProtobuf
import TapedeckModel
import TapedeckVideo
import Testing

/// Week boundaries and current episodes across time zones and clock changes.
@Suite struct ScheduleNowTests {
    private func script(_ zone: String?, country: String = "US") throws -> Script {
        var script = Script()
        let zone = zone.map { #","timezone":"\#($0)""# } ?? ""
        try script.add(
            "ShowObserved",
            #"{"show":1,"network":{"id":1,"countryCode":"\#(country)"\#(zone)}}"#)
        return script
    }

    private func add(
        _ script: inout Script, _ episode: Int, at airstamp: String, minutes: Int = 60
    ) throws {
        try script.add(
            "EpisodeScheduled",
            """
            {"show":1,"episode":\(episode),"airstamp":"\(airstamp)","airtime":"20:00",
             "runtimeMinutes":\(minutes)}
            """)
    }

    private func time(_ text: String) throws -> UTCTime {
        UTCTime(milliseconds: try #require(Timestamps.milliseconds(text)))
    }

    /// Each case has a time zone, a time, the Monday of its week and the start of the next week.
    @Test(arguments: [
        (nil, "2019-07-10T00:00:00Z", "2019-07-08", "2019-07-15T00:00:00.000Z"),
        ("No/Where", "2019-07-10T00:00:00Z", "2019-07-08", "2019-07-15T00:00:00.000Z"),
        // Clocks go forward at 02:00 on the Sunday of this week.
        ("America/New_York", "2019-03-10T12:00:00Z", "2019-03-04", "2019-03-11T04:00:00.000Z"),
        ("Pacific/Kiritimati", "2019-07-07T10:00:00Z", "2019-07-08", "2019-07-14T10:00:00.000Z"),
        ("Asia/Kathmandu", "2019-07-07T18:14:00Z", "2019-07-01", "2019-07-07T18:15:00.000Z"),
        // Clocks go forward at midnight on the next Monday, which therefore begins at 01:00.
        ("Asia/Tehran", "2021-03-21T12:00:00Z", "2021-03-15", "2021-03-21T20:30:00.000Z"),
    ])
    func weeksBeginOnMondayInTheChannelsZone(
        _ zone: String?, _ now: String, _ monday: String, _ next: String
    ) throws {
        var script = try script(zone)
        let now = try time(now)
        try add(&script, 1, at: UTCTime(milliseconds: now.milliseconds + 1).description)
        let week = try queries(script.events).schedule(at: now, scope: ScheduleScope())
        #expect(week.days.first?.date == monday)
        #expect(week.nextChangeAt?.description == next)
    }

    @Test func weekUsesTheZoneOfMostEpisodesAroundTheTime() throws {
        var script = try script("America/New_York")
        try script.add(
            "ShowObserved",
            #"{"show":2,"network":{"id":2,"countryCode":"US","timezone":"America/Los_Angeles"}}"#)
        for hour in 10..<14 { try add(&script, hour, at: "2019-07-10T\(hour):00:00Z") }
        for id in 1...9 {
            // Six episodes aired long ago, and three air close to the queried time.
            let day = id < 7 ? "2010-07-10" : "2019-07-10"
            try script.add(
                "EpisodeScheduled",
                #"{"show":2,"episode":\#(id),"airstamp":"\#(day)T10:0\#(id):00Z"}"#)
        }
        let week = try queries(script.events).schedule(
            at: time("2019-07-10T12:00:00Z"), scope: ScheduleScope())
        #expect(week.nextChangeAt?.description == "2019-07-15T04:00:00.000Z")
    }

    @Test func endedEpisodesAreNotCurrent() throws {
        var script = try script("America/New_York")
        for id in 1...2_100 {
            let minute = (id % 60) < 10 ? "0\(id % 60)" : "\(id % 60)"
            let hour = (id / 60 % 20) < 10 ? "0\(id / 60 % 20)" : "\(id / 60 % 20)"
            try add(&script, id, at: "2019-07-10T\(hour):\(minute):00Z", minutes: 1)
        }
        try add(&script, 9_000, at: "2019-07-09T00:00:00Z", minutes: 24 * 60 + 1)
        let found = try queries(script.events).onNow(
            at: time("2019-07-10T00:00:30Z"), scope: ScheduleScope())
        #expect(found.episodes.first?.id == 9_000)
        #expect(found.episodes.allSatisfy { $0.endsAt ?? $0.startsAt > $0.startsAt })
        #expect(found.nextChangeAt?.description == "2019-07-10T00:01:00.000Z")
    }

    @Test func simultaneousEpisodesAreSortedByID() throws {
        var script = try script("Europe/London", country: "GB")
        try add(&script, 9, at: "2019-07-10T20:00:00Z")
        try add(&script, 2, at: "2019-07-10T20:00:00Z")
        let scope = try ScheduleScope(country: "gb")
        let queries = try queries(script.events)
        #expect(
            try queries.onNow(at: time("2019-07-10T20:00:00Z"), scope: scope)
                .episodes.map(\.id) == [2, 9])
        #expect(
            try queries.endingSoon(at: time("2019-07-10T20:59:00Z"), scope: scope)
                .episodes.map(\.id) == [2, 9])
    }

    @Test func normalizingAListSortsItsIDsAndDropsRepeats() throws {
        let listed = try ScheduleListed(
            jsonString: """
                {"date":"2019-07-10","country":"us","listedAt":"2019-07-01T00:00:00Z",
                 "episodes":[3,1,3]}
                """
        ).normalized()
        #expect(listed.episodes == [1, 3] && listed.country == "US")
    }

    @Test(arguments: [
        ("date", #"{"country":"US","listedAt":"2019-07-01T00:00:00Z"}"#),
        ("country", #"{"date":"2019-07-10","listedAt":"2019-07-01T00:00:00Z"}"#),
        ("country", #"{"date":"2019-07-10","country":"U","listedAt":"2019-07-01T00:00:00Z"}"#),
        ("listedAt", #"{"date":"2019-07-10","country":"US"}"#),
        (
            "episodes",
            #"{"date":"2019-07-10","country":"US","listedAt":"2019-07-01T00:00:00Z","episodes":[0]}"#
        ),
    ])
    func invalidScheduleListsAreRefused(_ field: String, _ json: String) throws {
        let error = #expect(throws: ModelError.self) {
            try EventCatalogue.video.proposal(type: "ScheduleListed", json: json)
        }
        #expect(error?.code == .invalidPayload && error?.message.hasPrefix(field) == true)
    }
}
