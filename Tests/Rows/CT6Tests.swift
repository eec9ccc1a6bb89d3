import Tapedeck
import TapedeckTesting
import Testing

/// CT6: The current programmes, programmes about to end, and the time of the next change; all are
/// available after a restart.
@Suite struct CT6Tests {
    private let stage: ScheduleStage

    init() async throws { stage = try await ScheduleStage("ct6") }

    @Test func currentProgrammesHaveBegunAndNotEnded() async throws {
        try await stage.episode(1, at: "2019-07-10T20:00:00Z", minutes: 60)
        try await stage.episode(2, at: "2019-07-10T20:30:00Z", minutes: 60)
        func check(_ now: String, _ ids: [Int64], _ next: String?) async throws {
            let found = try await stage.onNow(now)
            #expect(found.episodes.map(\.id) == ids, "\(now)")
            #expect(found.nextChangeAt == (try next.map(time)), "\(now)")
        }
        try await check("2019-07-10T19:59:59.999Z", [], "2019-07-10T20:00:00Z")
        try await check("2019-07-10T20:00:00Z", [1], "2019-07-10T20:30:00Z")
        try await check("2019-07-10T20:59:59.999Z", [1, 2], "2019-07-10T21:00:00Z")
        try await check("2019-07-10T21:00:00Z", [2], "2019-07-10T21:30:00Z")
        try await check("2019-07-10T21:30:00Z", [], nil)
        // The next programme is beyond the lookahead, so the caller should ask again after a week.
        try await check("2019-06-01T00:00:00Z", [], "2019-06-08T00:00:00Z")
        #expect(
            try await stage.onNow("2019-07-10T21:00:00Z").episodes.first?.endsAt
                == (try time("2019-07-10T21:30:00Z")))
    }

    @Test func programmesWithoutTimeOrRuntimeAreNeverCurrent() async throws {
        try await stage.episode(1, at: "2019-07-10T12:00:00Z", airtime: "")
        try await stage.episode(2, at: "2019-07-10T12:00:00Z", minutes: nil)
        try await stage.episode(3, at: nil)
        let found = try await stage.onNow("2019-07-10T12:10:00Z")
        #expect(found.episodes.isEmpty && found.nextChangeAt == nil)
        // If the episode has no runtime, the average runtime of the show is used.
        try await stage.add(
            "ShowObserved", #"{"show":1,"updated":11,"averageRuntimeMinutes":30}"#)
        #expect(try await stage.onNow("2019-07-10T12:10:00Z").episodes.map(\.id) == [2])
    }

    @Test func runtimesIgnoreDaylightSavingTime() async throws {
        // The episode begins at 01:30 in New York, half an hour before clocks go back from 02:00 to
        // 01:00.
        try await stage.episode(1, at: "2019-11-03T05:30:00Z", airtime: "01:30", minutes: 60)
        #expect(try await stage.onNow("2019-11-03T06:29:00Z").episodes.map(\.id) == [1])
        #expect(try await stage.onNow("2019-11-03T06:30:00Z").episodes.isEmpty)
    }

    @Test func programmesFromYesterdayCanBeCurrent() async throws {
        try await stage.episode(1, at: "2019-07-10T00:00:00Z", minutes: 2 * 24 * 60)
        #expect(try await stage.onNow("2019-07-11T23:59:00Z").episodes.map(\.id) == [1])
    }

    @Test func programmesAboutToEndAreListed() async throws {
        try await stage.episode(1, at: "2019-07-10T20:00:00Z", minutes: 60)
        try await stage.episode(2, at: "2019-07-10T20:30:00Z", minutes: 20)
        // This episode is shorter than the window, so it is about to end as soon as it starts.
        try await stage.episode(3, at: "2019-07-10T20:55:00Z", minutes: 10)
        func check(
            _ now: String, _ ids: [Int64], _ next: String?, window: Double = 900
        ) async throws {
            let found = try await stage.endingSoon(now, windowSeconds: window)
            #expect(found.episodes.map(\.id) == ids, "\(now)")
            #expect(found.nextChangeAt == (try next.map(time)), "\(now)")
        }
        try await check("2019-07-10T20:00:00Z", [], "2019-07-10T20:35:00Z")
        try await check("2019-07-10T20:35:00Z", [2], "2019-07-10T20:45:00Z")
        try await check("2019-07-10T20:45:00Z", [2, 1], "2019-07-10T20:50:00Z")
        try await check("2019-07-10T20:55:00Z", [1, 3], "2019-07-10T21:00:00Z")
        try await check("2019-07-10T21:05:00Z", [], nil)
        try await check("2019-07-10T20:45:00Z", [2], "2019-07-10T20:50:00Z", window: 300)
        #expect(QueryLimits.endingSoonSeconds == 900)
        let error = await #expect(throws: StoreError.self) {
            try await stage.endingSoon("2019-07-10T20:00:00Z", windowSeconds: -1)
        }
        #expect(error?.code == .usage)
    }

    @Test func scopesApplyToCurrentProgrammes() async throws {
        for show in 1...4 {
            try await stage.episode(show, of: show, at: "2019-07-10T20:00:00Z")
        }
        func ids(_ scope: ScheduleScope) async throws -> [Int64] {
            try await stage.onNow("2019-07-10T20:30:00Z", scope).episodes.map(\.id)
        }
        #expect(try await ids(ScheduleScope()) == [1])
        #expect(try await ids(ScheduleScope(country: "GB")) == [2])
        #expect(try await ids(ScheduleScope(web: true)) == [3, 4])
        #expect(try await ids(ScheduleScope(includeWeb: true)) == [1, 4])
    }

    @Test func currentProgrammesAreAvailableAfterARestart() async throws {
        try await stage.episode(1, at: "2019-07-10T20:00:00Z")
        stage.store.close()
        let store = try stage.place.open()
        let now = try time("2019-07-10T20:30:00Z")
        let found = try await store.query {
            try VideoQueries($0).onNow(at: now, scope: ScheduleScope())
        }
        #expect(found.episodes.map(\.id) == [1])
    }
}
