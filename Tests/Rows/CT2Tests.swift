import Tapedeck
import TapedeckTesting
import Testing

/// CT2: The contents of a schedule's cells and of episode details: summaries as plain text, and the cast
/// with its characters.
@Suite struct CT2Tests {
    @Test func cellsHaveNamesTimesNetworkAndPlainSummary() async throws {
        let stage = try await ScheduleStage("ct2")
        try await stage.add(
            "ShowObserved",
            #"{"show":1,"updated":11,"image":{"medium":"http://i/m"},"runtimeMinutes":30}"#)
        try await stage.episode(
            1, at: "2019-07-10T16:00:00Z", minutes: nil,
            more: #"""
                ,"name":"Pilot","season":1,"number":2,"summary":"<p>A &amp; <b>B</b></p>"
                """#)
        let week = try await stage.ask {
            try $0.schedule(week: "2019-07-10", scope: ScheduleScope())
        }
        let cell = try #require(week.days[2].episodes.first)
        #expect(cell.show == "Show 1" && cell.name == "Pilot" && cell.network == "NBC")
        #expect(cell.season == 1 && cell.number == 2 && cell.summary == "A & B")
        #expect(cell.image == "http://i/m" && cell.timeKnown)
        #expect(cell.startsAt == (try time("2019-07-10T16:00:00Z")))
        // The end is based on the runtime of the show, because the episode's own runtime is
        // unknown.
        #expect(cell.runtimeMinutes == nil)
        #expect(cell.endsAt == (try time("2019-07-10T16:30:00Z")))
    }

    @Test func episodeWithPlaceholderTimeHasNoEnd() async throws {
        let stage = try await ScheduleStage("ct2")
        try await stage.episode(1, of: 3, at: "2019-07-10T12:00:00Z", airtime: "")
        let week = try await stage.ask {
            try $0.schedule(week: "2019-07-10", scope: ScheduleScope(web: true))
        }
        let cell = try #require(week.days[2].episodes.first)
        #expect(!cell.timeKnown && cell.endsAt == nil && cell.runtimeMinutes == 60)
    }

    @Test func showsHaveDetailsAndCast() async throws {
        let stage = try await ScheduleStage("ct2")
        try await stage.add(
            "ShowObserved",
            #"""
            {"show":1,"updated":11,"genres":["Drama","Crime"],"summary":"<p>It <i>begins</i></p>",
             "runtimeMinutes":45}
            """#)
        try await stage.add(
            "CastObserved",
            #"""
            {"show":1,"showUpdated":11,"cast":[
             {"personId":1,"person":"Ada","characterId":2,"character":"Countess",
              "personImage":{"medium":"http://i/ada"}},
             {"personId":3,"person":"Bob","characterId":4,"character":"Butler",
              "characterImage":{"medium":"http://i/butler"}}]}
            """#)
        try await stage.episode(1, at: "2019-07-10T16:00:00Z", more: #","season":1,"number":1"#)
        let show = try await stage.ask { try $0.show(1) }
        #expect(show.genres == ["Drama", "Crime"] && show.summary == "It begins")
        #expect(show.runtimeMinutes == 45 && show.network == "NBC")
        #expect(show.cast.map(\.person) == ["Ada", "Bob"])
        #expect(show.cast.map(\.character) == ["Countess", "Butler"])
        #expect(show.cast.map(\.image) == ["http://i/ada", "http://i/butler"])
        #expect(show.episodes.map(\.id) == [1])
    }
}
