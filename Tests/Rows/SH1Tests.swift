import Tapedeck
import TapedeckModel
import Testing

/// SH1: Polling returns the same broadcasts again; the list receives only the changed rows, and nothing is lost.
@Suite struct SH1Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("sh1") }

    /// Records the result of a poll: broadcasts with their titles.
    private func poll(_ titles: [String: String], liked: Set<String> = []) async throws {
        stage.wait(10)
        let now = stage.now.milliseconds
        let events = try titles.sorted(by: { $0.key < $1.key }).map { video, title in
            var said = BroadcastReceived()
            (said.broadcast, said.video, said.title) = ("b-\(video)", "youtube:\(video)", title)
            said.createdAt = .init(seconds: Int64(title.count))
            said.liked = liked.contains(video)
            return try ProposedEvent(observation: said, observedAt: now)
        }
        try await stage.store.log.append(events)
    }

    @Test func changedBroadcastsShowTheirNewestState() async throws {
        try await poll(["a": "first"])
        try await poll(["a": "other", "b": "second"])
        try await poll(["a": "other", "b": "second"], liked: ["b"])
        let found = try await stage.page("timeline").videos
        #expect(found.map(\.title) == ["second", "other"])
        #expect(found.map(\.broadcasts) == [1, 1])
        #expect(try await stage.ids("favourites") == ["b"])
    }

    @Test func broadcastsMissingFromAPollAreKept() async throws {
        try await poll(["a": "first", "b": "second"])
        // This poll returns none of the earlier broadcasts.
        try await poll(["c": "another"])
        #expect(try await stage.ids("timeline") == ["c", "b", "a"])
    }

    @Test func observersReceiveOnlyChangedRows()
        async throws
    {
        try await poll(["a": "first"])
        var changes = stage.store.observe(VideoList()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        _ = try await stage.ids("timeline")
        // Reading the same broadcast again changes no row, so the next change is the new video.
        try await poll(["a": "first"])
        _ = try await stage.ids("timeline")
        try await poll(["b": "second"])
        guard case .changes(let found)? = await changes.next(), found.count == 1,
            case .inserted(let row) = found[0]
        else {
            Issue.record("expected one inserted row")
            return
        }
        #expect(String(decoding: row.key, as: UTF8.self).contains("youtube:b"))
    }
}
