import TapedeckConnectors
import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct TVmazeDocumentTests {
    private func read(
        _ name: String, _ json: String, show: Int64? = nil, observedAt: Int64? = nil
    ) throws -> IngestResult {
        try IngestResource.named(name).read(Array(json.utf8), show: show, observedAt: observedAt)
    }

    private func events<E: VideoEvent>(_: E.Type, _ result: IngestResult) throws -> [E] {
        try result.proposals.filter { $0.type == E.eventType }
            .map { try E(payload: $0.payload, version: 1) }
    }

    @Test func nullMembersClearFieldsAndAbsentOnesDoNot() throws {
        let result = try read(
            "tvmaze/show", #"{"id":1,"name":"N","summary":null,"genres":[],"image":null}"#)
        let show = try #require(try events(ShowObserved.self, result).first)
        #expect(show.cleared == ["genres", "image", "summary"])
        #expect(show.name == "N")
        #expect(!show.hasSummary && !show.hasLanguage)
    }

    @Test func embeddedPartsAreReadWithTheirShow() throws {
        let result = try read(
            "tvmaze/show",
            #"""
            {"id":118,"name":"House","updated":77,"_embedded":{
              "episodes":[{"id":1,"season":1,"number":1},
                          {"id":2,"airstamp":"2004-11-16T21:00:00-05:00"}],
              "nextepisode":{"id":3},
              "cast":[{"person":{"id":5,"name":"P"},"character":{"id":6,"name":"C"},"self":false}],
              "seasons":[{"id":9}]}}
            """#)
        #expect(result.refused.isEmpty)
        let episodes = try events(EpisodeScheduled.self, result)
        #expect(episodes.map(\.episode) == [1, 2, 3])
        #expect(episodes.allSatisfy { $0.show == 118 && $0.showUpdated == 77 })
        #expect(episodes[1].airstamp.seconds == 1_100_656_800)
        let cast = try #require(try events(CastObserved.self, result).first)
        #expect(cast.cast.map(\.person) == ["P"])
        #expect(cast.showUpdated == 77)
        #expect(result.read == 5)
    }

    @Test func equalObservationsInAFileAreReadOnce() throws {
        let show = #"{"id":7,"name":"S","updated":1,"weight":\#("1")}"#
        let other =
            #"{"updated":1,"name":"S","weight":99,"_links":{},"rating":{"average":8},"id":7}"#
        let result = try read(
            "tvmaze/schedule", #"[{"id":1,"show":\#(show)},{"id":2,"show":\#(other)}]"#)
        #expect(try events(ShowObserved.self, result).count == 1)
        #expect(try events(EpisodeScheduled.self, result).count == 2)
    }

    @Test func scheduleRowsContainTheShowInEitherPlace() throws {
        for name in ["tvmaze/schedule", "tvmaze/schedule-web"] {
            for row in [#""show":{"id":7}"#, #""_embedded":{"show":{"id":7}}"#] {
                let result = try read(name, #"[{"id":1,\#(row)}]"#)
                #expect(result.refused.isEmpty)
                #expect(result.proposals.count == 2)
            }
        }
    }

    @Test func observationsKeepTheirTime() throws {
        let result = try read("tvmaze/cast", "[]", show: 7, observedAt: 1_000_500)
        #expect(result.proposals.first?.fact?.observedAt == 1_000_500)
        #expect(result.proposals.first?.fact?.version == 1_000)
        #expect(try read("tvmaze/cast", "[]", show: 7).proposals.first?.fact?.version == 0)
    }

    @Test func readingCastOrAnEpisodeRequiresAShow() throws {
        for name in ["tvmaze/cast", "tvmaze/episode"] {
            for show in [nil, 0, -3] as [Int64?] {
                let error = #expect(throws: ModelError.self) { try read(name, "[]", show: show) }
                #expect(error?.code == .usage)
            }
        }
        #expect(
            IngestResource.all.filter(\.needsShow).map(\.name)
                == ["tvmaze/cast", "tvmaze/episode"])
    }

    @Test func unknownResourceErrorsListTheKnownOnes() {
        let error = #expect(throws: ModelError.self) { try IngestResource.named("tvmaze/people") }
        #expect(error?.code == .usage)
        #expect(error?.hint?.contains("tvmaze/schedule-web") == true)
    }

    @Test func searchResultsAreReadAsShows() throws {
        let result = try read(
            "tvmaze/search", #"[{"score":1.5,"show":{"id":1}},{"score":1},{"show":{"id":2}}]"#)
        #expect(try events(ShowObserved.self, result).map(\.show) == [1, 2])
        #expect(result.refused.map(\.path) == ["$[1].show"])
    }

    @Test func byteOrderMarkIsSkipped() throws {
        let bytes: [UInt8] = [0xEF, 0xBB, 0xBF] + Array(#"{"id":1}"#.utf8)
        #expect(try IngestResource.named("tvmaze/show").read(bytes).proposals.count == 1)
    }

    @Test func unknownDaysAreCleared() throws {
        let result = try read(
            "tvmaze/episode", #"{"id":1,"airdate":"","airtime":"","airstamp":null}"#, show: 2)
        let episode = try #require(try events(EpisodeScheduled.self, result).first)
        #expect(episode.cleared == ["airdate", "airstamp"])
        #expect(episode.hasAirtime && episode.airtime.isEmpty)
        let zeros = try read("tvmaze/show", #"{"id":1,"premiered":"0000-00-00"}"#)
        #expect(try events(ShowObserved.self, zeros).first?.cleared == ["premiered"])
    }
}
