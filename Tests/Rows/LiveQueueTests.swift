import Tapedeck
import TapedeckTesting
import Testing

/// A live queue equals the result of its query after each edit.
@Suite struct LiveQueueTests {
    @Test func liveQueuesMatchTheirQueryResults() async throws {
        let place = try TemporaryStore("live-queue")
        let store = try place.open()
        var updates = store.live(try .queue(limit: 3)).makeAsyncIterator()
        var queue: [QueuePageEntry] = []
        try #require(try await updates.next()).apply(to: &queue)
        let videos = try ["a", "b", "c", "d"].map { try VideoKey("youtube:\($0)") }
        let edits: [EditQueue.Edit] =
            videos.map { .append($0) } + [
                .remove(videos[1]), .playNext(videos[1], after: nil), .remove(videos[0]),
            ]
        for edit in edits {
            try await store.decide { try EditQueue(edit).decide(VideoQueries($0)) }
            try #require(try await updates.next()).apply(to: &queue)
            let page = try await store.query { try VideoQueries($0).queue(limit: 3) }
            #expect(queue == page.videos)
        }
        #expect(queue.map(\.video) == ["youtube:b", "youtube:c", "youtube:d"])
    }
}
