import Tapedeck
import TapedeckTesting
import Testing

/// CT5: The week and the current programmes, filtered by part of a show's or channel's name.
@Suite struct CT5Tests {
    @Test func filtersMatchShowsAndChannels() async throws {
        let stage = try await ScheduleStage("ct5")
        for show in 1...5 {
            try await stage.episode(show, of: show, at: "2019-07-10T16:00:00Z")
        }
        let day = "2019-07-10"
        func ids(_ filter: String, web: Bool = false) async throws -> [Int64] {
            let scope = try ScheduleScope(web: web, filter: filter)
            return try await stage.week(day, scope)[day] ?? []
        }
        #expect(try await ids("nbc") == [1, 5])
        #expect(try await ids("SHOW 5") == [5])
        #expect(try await ids(" show ") == [1, 5])
        // Only a show's network or its web channel is searched, depending on the scope.
        #expect(try await ids("tele") == [])
        #expect(try await ids("tele", web: true) == [3, 5])
        #expect(try await ids("TÉLÉ P", web: true) == [3, 5])
        #expect(try await ids("hulu", web: true) == [4])
        #expect(try await ids("nothing of that name") == [])
    }

    @Test func filtersApplyToCurrentProgrammes() async throws {
        let stage = try await ScheduleStage("ct5")
        for show in [1, 5] {
            try await stage.episode(show, of: show, at: "2019-07-10T16:00:00Z")
        }
        let found = try await stage.onNow(
            "2019-07-10T16:30:00Z", ScheduleScope(filter: "Show 5"))
        #expect(found.episodes.map(\.id) == [5])
    }

    @Test(arguments: ["", " \t"])
    func blankFiltersAreRefused(_ filter: String) {
        let error = #expect(throws: ModelError.self) { try ScheduleScope(filter: filter) }
        #expect(error?.code == .usage)
    }
}
