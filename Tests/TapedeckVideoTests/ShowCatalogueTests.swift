import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct ShowCatalogueTests {
    private func show(_ script: Script) throws -> ShowReport {
        let projections = VideoProjections.standard
        try checkOrderDoesNotMatter(projections.shows, script.events)
        try checkOrderDoesNotMatter(projections.schedule, script.events)
        return try queries(script.events).show(1)
    }

    @Test func updatesReplaceOnlyTheFieldsTheyContain() throws {
        var script = Script()
        try script.add(
            "ShowObserved",
            #"{"show":1,"updated":10,"name":"Old","runtimeMinutes":30,"genres":["Drama"]}"#)
        try script.add("ShowObserved", #"{"show":1,"updated":20,"name":"New"}"#)
        let report = try show(script)
        #expect(report.name == "New")
        #expect(report.runtimeMinutes == 30)
        #expect(report.genres == ["Drama"])
    }

    @Test func clearedFieldsLoseTheirValues() throws {
        var script = Script()
        try script.add(
            "ShowObserved",
            #"{"show":1,"updated":10,"name":"N","summary":"<p>S</p>","genres":["Drama"]}"#)
        try script.add(
            "ShowObserved", #"{"show":1,"updated":20,"cleared":["genres","summary"]}"#)
        let report = try show(script)
        #expect(report.name == "N")
        #expect(report.summary == nil)
        #expect(report.genres.isEmpty)
    }

    @Test func olderVersionNeverOverwritesANewerOne() throws {
        var script = Script()
        try script.add("ShowObserved", #"{"show":1,"updated":20,"name":"New"}"#)
        try script.add(
            "ShowObserved", #"{"show":1,"updated":10,"name":"Old","runtimeMinutes":30}"#)
        let report = try show(script)
        #expect(report.name == "New")
        #expect(report.runtimeMinutes == 30)
    }

    @Test func castIsReplacedAsAWhole() throws {
        var script = Script()
        try script.add(
            "CastObserved",
            #"{"show":1,"showUpdated":10,"cast":[{"personId":1,"person":"A","characterId":2}]}"#)
        try script.add(
            "CastObserved",
            #"""
            {"show":1,"showUpdated":20,"cast":[
              {"personId":3,"person":"B","characterId":4,"character":"C",
               "personImage":{"medium":"http://p/m","original":"http://p/o"}},
              {"personId":5,"person":"D","characterId":6,"self":true,
               "characterImage":{"original":"http://c/o"}}]}
            """#)
        let cast = try show(script).cast
        #expect(cast.map(\.person) == ["B", "D"])
        #expect(cast.map(\.character) == ["C", nil])
        #expect(cast.map(\.image) == ["http://p/m", "http://c/o"])
    }

    @Test func episodesAreListedBySeasonAndNumber() throws {
        var script = Script()
        for (episode, season, number) in [
            (5, "2", "1"), (4, "1", "2"), (3, "1", "null"), (9, "1", "1"),
        ] {
            try script.add(
                "EpisodeScheduled",
                #"{"show":1,"episode":\#(episode),"season":\#(season),"number":\#(number)}"#)
        }
        try script.add("EpisodeScheduled", #"{"show":2,"episode":1,"season":1,"number":1}"#)
        let report = try show(script)
        #expect(report.episodes.map(\.id) == [9, 4, 3, 5])
        #expect(report.name == nil)
        #expect(report.episodes[2].number == nil)
    }

    @Test func unknownShowIsNotFound() {
        let error = #expect(throws: ModelError.self) { try queries([]).show(7) }
        #expect(error?.code == .notFound)
    }

    @Test func networkIsPreferredToTheWebChannel() throws {
        var script = Script()
        try script.add("ShowObserved", #"{"show":1,"updated":1,"webChannel":{"id":1,"name":"W"}}"#)
        #expect(try show(script).network == "W")
        try script.add("ShowObserved", #"{"show":1,"updated":2,"network":{"id":1,"name":"N"}}"#)
        #expect(try show(script).network == "N")
    }
}
