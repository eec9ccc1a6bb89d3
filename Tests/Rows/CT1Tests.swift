import Tapedeck
import TapedeckTesting
import Testing

/// CT1: The schedule of a week runs from Monday to Sunday and shows each episode on its day in the
/// channel's time zone, in order of start time, for any country and for web channels.
@Suite struct CT1Tests {
    @Test func daysFollowTheTimeZoneOfTheChannel() async throws {
        let stage = try await ScheduleStage("ct1")
        try await stage.episode(1, at: "2019-07-11T03:30:00Z")
        // The airdate of an episode at 01:30 is the previous day, but the week shows the episode on
        // the actual day.
        try await stage.episode(
            2, at: "2019-07-11T05:30:00Z", airdate: "2019-07-10", airtime: "01:30")
        try await stage.episode(3, of: 2, at: "2019-07-11T23:30:00Z")
        #expect(try await stage.week("2019-07-08") == ["2019-07-10": [1], "2019-07-11": [2]])
        #expect(
            try await stage.week("2019-07-14", ScheduleScope(country: "GB")) == ["2019-07-12": [3]])
    }

    @Test func daysFollowDaylightSavingTime() async throws {
        let stage = try await ScheduleStage("ct1")
        // Both times are 23:30 in New York, one before and one after the clock change on
        // 2019-03-10.
        try await stage.episode(1, at: "2019-03-10T04:30:00Z")
        try await stage.episode(2, at: "2019-03-11T03:30:00Z")
        #expect(
            try await stage.week("2019-03-10") == ["2019-03-09": [1], "2019-03-10": [2]])
    }

    @Test func channelsInUnknownTimeZonesUseUTC() async throws {
        let stage = try await ScheduleStage("ct1")
        try await stage.add(
            "ShowObserved",
            """
            {"show":6,"updated":10,"name":"Show 6",
             "network":{"id":6,"name":"Six","countryCode":"US","timezone":"America/Nowhere"}}
            """)
        try await stage.episode(1, of: 6, at: "2019-07-11T03:30:00Z")
        #expect(try await stage.week("2019-07-11") == ["2019-07-11": [1]])
    }

    @Test func webChannelsHaveASchedule() async throws {
        let stage = try await ScheduleStage("ct1")
        for show in 1...5 {
            try await stage.episode(show, of: show, at: "2019-07-10T16:00:00Z", airtime: "")
        }
        let day = "2019-07-10"
        #expect(try await stage.week(day) == [day: [1, 5]])
        #expect(try await stage.week(day, ScheduleScope(web: true)) == [day: [3, 4, 5]])
        #expect(try await stage.week(day, ScheduleScope(includeWeb: true)) == [day: [1, 4, 5]])
    }

    @Test func weekChangesAtMidnightInTheZoneOfTheChannels() async throws {
        let stage = try await ScheduleStage("ct1")
        try await stage.episode(1, at: "2019-11-01T00:00:00Z")
        try await stage.episode(2, of: 2, at: "2019-11-01T20:00:00Z")
        func week(_ now: String, _ country: String) async throws -> ScheduleWeek {
            let now = try time(now)
            return try await stage.ask {
                try $0.schedule(at: now, scope: ScheduleScope(country: country))
            }
        }
        // In New York, clocks go back on 2019-11-03, so Monday begins at 05:00 UTC.
        var found = try await week("2019-11-04T04:59:59.999Z", "US")
        #expect(found.days.first?.date == "2019-10-28")
        #expect(found.nextChangeAt == (try time("2019-11-04T05:00:00Z")))
        #expect(found.days[3].episodes.map(\.id) == [1])
        found = try await week("2019-11-04T05:00:00Z", "US")
        #expect(found.days.first?.date == "2019-11-04")
        #expect(found.nextChangeAt == (try time("2019-11-11T05:00:00Z")))
        #expect(try await week("2019-11-04T00:00:00Z", "GB").days.first?.date == "2019-11-04")
        // In a country without known channels, weeks begin at midnight in UTC.
        #expect(
            try await week("2019-11-03T23:00:00Z", "DE").nextChangeAt
                == (try time("2019-11-04T00:00:00Z")))
        // A week that is chosen by date stays the same as time passes.
        let named = try await stage.ask {
            try $0.schedule(week: "2019-11-01", scope: ScheduleScope())
        }
        #expect(named.nextChangeAt == nil)
    }
}
