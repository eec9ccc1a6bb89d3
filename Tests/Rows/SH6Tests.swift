import Tapedeck
import Testing

/// SH6: Pull to refresh adds new entries and removes old ones, one entry at a time.
@Suite struct SH6Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("sh6") }

    private func ids(_ list: [GroupEntry]) -> [String] {
        list.map { String($0.key.dropFirst("youtube:".count)) }
    }

    @Test func refreshesReportAddedAndRemovedEntries() async throws {
        for (number, video) in ["a", "b", "c"].enumerated() {
            try await stage.list("e\(number)", video, on: "stream", at: Int64(number))
        }
        var updates = stage.store.live(.group(.listed("stream"))).makeAsyncIterator()
        var shown: [GroupEntry] = []
        try #require(try await updates.next()).apply(to: &shown)
        #expect(ids(shown) == ["c", "b", "a"])
        // The refresh finds the known entries and a new one.
        stage.wait(10)
        for (number, video) in ["a", "b", "c", "d"].enumerated() {
            try await stage.list(
                "e\(number)", video, on: "stream", at: Int64(number), seenAt: stage.now)
        }
        let added = try #require(try await updates.next())
        guard case .inserted(let entry, at: 0)? = added.changes.first, added.changes.count == 1
        else {
            Issue.record("expected one inserted entry: \(added)")
            return
        }
        #expect(ids([entry]) == ["d"])
        added.apply(to: &shown)
        // The next refresh no longer finds the second entry.
        stage.wait(10)
        try await stage.list(
            "e1", "b", on: "stream", at: 1, removed: true, seenAt: stage.now)
        let removed = try #require(try await updates.next())
        #expect(removed.changes == [.removed(at: 2)])
        removed.apply(to: &shown)
        #expect(shown == (try await stage.page("stream").videos))
        // The log keeps all events, including those of the removed entry.
        #expect(stage.store.log.head.rawValue == 8)
    }

    @Test func unchangedEntriesAreNotReported() async throws {
        try await stage.share("b1", "a", at: 1)
        var updates = stage.store.live(.group(.timeline)).makeAsyncIterator()
        #expect(try await updates.next()?.changes.count == 1)
        stage.wait(10)
        try await stage.share("b1", "a", at: 1, seenAt: stage.now)
        try await stage.share("b2", "b", at: 2, seenAt: stage.now)
        let update = try #require(try await updates.next())
        guard case .inserted(let entry, at: 0)? = update.changes.first, update.changes.count == 1
        else {
            Issue.record("expected one inserted entry: \(update)")
            return
        }
        #expect(ids([entry]) == ["b"])
    }

    @Test func slowConsumersReceiveOneCombinedUpdate() async throws {
        var updates = stage.store.live(.group(.timeline), interval: .milliseconds(1))
            .makeAsyncIterator()
        #expect(try await updates.next()?.changes == [])
        for number in 0..<30 {
            try await stage.share("b\(number)", "v\(number)", at: Int64(number))
        }
        let update = try #require(try await updates.next())
        #expect(update.changes.count == 30)
        var shown: [GroupEntry] = []
        update.apply(to: &shown)
        #expect(shown == (try await stage.page("timeline").videos))
    }
}
