import Tapedeck
import TapedeckTesting
import Testing

/// SR6: When a video ends, the next one in the queue plays.
@Suite struct SR6QueueTests {
    private let stage: PlaybackStage

    init() throws { stage = try PlaybackStage("sr6-queue") }

    private func video(_ number: Int) throws -> VideoKey { try VideoKey("vimeo:\(number)") }

    private func edit(_ edit: EditQueue.Edit) async throws {
        stage.wait(1)
        try await stage.store.decide { try EditQueue(edit).decide(VideoQueries($0)) }
    }

    private func queue() async throws -> [String] {
        try await stage.ask { queries, _ in
            try queries.queue().videos.map { String($0.video.dropFirst("vimeo:".count)) }
        }
    }

    @Test func videosPlayInQueueOrder() async throws {
        for number in 1...3 { try await edit(.append(video(number))) }
        #expect(try await queue() == ["1", "2", "3"])
        let (one, two, nine) = (try video(1), try video(2), try video(9))
        let neighbours = try await stage.ask { queries, _ in
            [
                try queries.nextInQueue(after: one), try queries.previousInQueue(before: two),
                try queries.previousInQueue(before: one), try queries.nextInQueue(after: nine),
                try queries.nextInQueue(after: nil),
            ]
        }
        #expect(neighbours == ["vimeo:2", "vimeo:1", nil, "vimeo:1", "vimeo:1"])
        #expect(try await stage.ask { queries, _ in try queries.queueCount() } == 3)
        try await edit(.playNext(video(4), after: video(2)))
        #expect(try await queue() == ["1", "2", "4", "3"])
        try await edit(.playNext(video(5), after: video(2)))
        #expect(try await queue() == ["1", "2", "5", "4", "3"])
        try await edit(.playNext(video(3), after: nil))
        #expect(try await queue() == ["3", "1", "2", "5", "4"])
        try await edit(.remove(video(2)))
        #expect(try await queue() == ["3", "1", "5", "4"])
        let entries = try await stage.ask { queries, _ in
            try queries.queue(of: ["vimeo:1", "vimeo:2"]).videos
        }
        #expect(entries.map(\.previous) == ["vimeo:3"] && entries.map(\.next) == ["vimeo:5"])
        try await edit(.clear)
        #expect(try await queue().isEmpty)
        try await edit(.append(video(2)))
        #expect(try await queue() == ["2"])
    }

    @Test func invalidEditsAreRefused() async throws {
        try await edit(.append(video(1)))
        func refusal(_ edit: EditQueue.Edit) async -> EditQueue.Refusal? {
            await #expect(throws: EditQueue.Refusal.self) { try await self.edit(edit) }
        }
        #expect(try await refusal(.append(video(1))) == .alreadyQueued)
        #expect(try await refusal(.remove(video(2))) == .notQueued)
        #expect(try await refusal(.playNext(video(2), after: video(3))) == .noSuchPlace)
        #expect(try await refusal(.playNext(video(1), after: video(1))) == .noSuchPlace)
        try await edit(.clear)
        #expect(await refusal(.clear) == .empty)
        let full = EditQueue(.append(try video(7)))
        #expect(throws: EditQueue.Refusal.full) {
            try full.decide(count: PlayQueue.videosMax) { _ in false }
        }
    }

    @Test func manyInsertionsAtOnePlaceKeepTheOrder() async throws {
        var events: [any Event] = [
            VideoQueued.with { $0.video = "vimeo:1" }, VideoQueued.with { $0.video = "vimeo:2" },
        ]
        for number in 3...120 {
            events.append(
                VideoQueuedNext.with { ($0.video, $0.after) = ("vimeo:\(number)", "vimeo:1") })
        }
        try await stage.store.append(events)
        let expected = ["1"] + (3...120).reversed().map(String.init) + ["2"]
        let found = try await stage.ask { queries, _ in
            try queries.queue(limit: 500).videos.map { String($0.video.dropFirst(6)) }
        }
        #expect(found == expected)
        let pages = try await stage.ask { queries, _ in
            let first = try queries.queue(limit: 100)
            return try first.videos + queries.queue(limit: 100, cursor: first.next).videos
        }
        #expect(pages.count == 120)
        for (entry, next) in zip(pages, pages.dropFirst()) {
            #expect(entry.next == next.video && next.previous == entry.video)
        }
    }
}
