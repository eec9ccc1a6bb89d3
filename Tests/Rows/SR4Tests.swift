import Tapedeck
import TapedeckModel
import Testing

/// SR4: A content URL is delivered only to the player that is waiting for that video.
@Suite struct SR4Tests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sr4") }

    @Test func playersReceiveOnlyTheURLOfTheirVideo() async throws {
        let player = try await stage.store.subscribe(
            named: "player", types: [VideoExtracted.eventType],
            tags: [try VideoKey("vimeo:7").tag])
        var events = player.makeAsyncIterator()
        try await stage.extract("vimeo:1")
        try await stage.progress("vimeo:7", 10)
        try await stage.extract("vimeo:7")
        let event = try #require(try await events.next())
        let found = try VideoExtracted(payload: event.payload, version: event.schemaVersion)
        #expect(found.video == "vimeo:7")
        // The delivered URL can be queried.
        let address = try await stage.ask { queries, now in
            try queries.extraction(of: "vimeo:7", at: now)
        }
        #expect(address.url == found.url)
        player.close()
    }
}
