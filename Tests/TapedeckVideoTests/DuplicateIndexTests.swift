import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct DuplicateIndexTests {
    private func index(
        _ script: Script, winner: WinnerRule = .oldest
    ) throws -> [DuplicateEntry] {
        let projections = VideoProjections(winner: winner)
        try checkOrderDoesNotMatter(projections.videos, script.events)
        return try queries(script.events, projections).duplicates().videos
    }

    @Test func onlyVideosSharedTwiceAreListed() throws {
        var script = Script()
        try script.broadcast("b1", of: "youtube:two", created: 1)
        try script.broadcast("b2", of: "youtube:one", created: 2)
        try script.broadcast("b3", of: "youtube:two", created: 3)
        try script.broadcast("b2", of: "youtube:one", created: 2, updated: 9)
        let found = try index(script)
        #expect(found.map(\.key) == ["youtube:two"])
        #expect(found.first?.broadcasts == ["b1", "b3"])
        #expect(found.first?.winner == "b1")
        #expect(try index(script, winner: .newest).first?.winner == "b3")
    }

    @Test func broadcastsAreListedOldestFirst() throws {
        var script = Script()
        for (id, second) in [("c", 3.0), ("a", 9), ("b", 3), ("d", 1)] {
            try script.broadcast(id, created: second)
        }
        #expect(try index(script).first?.broadcasts == ["d", "b", "c", "a"])
    }

    @Test func newestObservationWithATimeSetsTheBroadcastTime() throws {
        var script = Script()
        try script.broadcast("b1", created: 1, updated: 1)
        try script.broadcast("b2", created: 2, updated: 2)
        try script.broadcast("b1", created: 5, updated: 3)
        try script.broadcast("b1", updated: 4, title: "no time")
        let found = try #require(try index(script).first)
        #expect(found.broadcasts == ["b2", "b1"])
        #expect(found.winner == "b2")
    }

    @Test func keysAreSorted() throws {
        var script = Script()
        for video in ["youtube:b", "vimeo:7", "youtube:a"] {
            try script.broadcast(video + "1", of: video, created: 1)
            try script.broadcast(video + "2", of: video, created: 2)
        }
        #expect(try index(script).map(\.key) == ["vimeo:7", "youtube:a", "youtube:b"])
    }
}
