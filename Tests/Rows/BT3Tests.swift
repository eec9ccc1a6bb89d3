import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// BT3: Submitted videos by views and by age, in pages that stay consistent while the list changes.
@Suite struct BT3Tests {
    private static let second: Int64 = 1_000
    private static let start: Int64 = 1_500_000_000_000

    private static func observation(
        _ number: Int, views: Int, seen: Int64 = 0, owner: String = "ada@example.org"
    ) throws -> ProposedEvent {
        var event = SubmissionObserved()
        event.video = "youtube:video\(number)"
        event.url = "https://www.youtube.com/watch?v=video\(number)"
        event.title = "Video \(number)"
        event.owner = owner
        event.createdAt = .init(milliseconds: start + Int64(number) * second)
        event.views = UInt64(views)
        return try ProposedEvent(observation: event, observedAt: start + seen)
    }

    private func pages(
        _ store: TapedeckStore, _ order: SubmissionOrder, limit: Int = 20,
        between: () async throws -> Void = {}
    ) async throws -> [[SubmissionEntry]] {
        var pages: [[SubmissionEntry]] = []
        var cursor: String?
        repeat {
            let at = cursor
            let page = try await store.query {
                try VideoQueries($0).submissions(order: order, limit: limit, cursor: at)
            }
            pages.append(page.videos)
            cursor = page.next
            try await between()
        } while cursor != nil
        return pages
    }

    @Test func popularSortsByViewsAndNewByAge() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        for number in 0..<45 {
            try await store.log.append([Self.observation(number, views: number % 5)])
        }
        let popular = try await pages(store, .popular)
        try #require(popular.map(\.count) == [20, 20, 5])
        let views = popular.joined().map { $0.views ?? -1 }
        #expect(views == views.sorted(by: >))
        // Among videos with equal views, the newest comes first.
        #expect(
            popular[0].prefix(3).map(\.key) == [
                "youtube:video44", "youtube:video39", "youtube:video34",
            ])
        #expect(popular[0][0].nickname == "ada")
        #expect(popular[0][0].title == "Video 44")
        let new = try await pages(store, .new)
        #expect(new.map(\.count) == [20, 20, 5])
        #expect(new.joined().map(\.key) == (0..<45).reversed().map { "youtube:video\($0)" })
    }

    @Test func newPagesNeverRepeatWhileTheListChanges() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        for number in 0..<60 { try await store.log.append([Self.observation(number, views: 1)]) }
        var round = 0
        let found = try await pages(store, .new, limit: 7) {
            round += 1
            // One video moves, but only in the popular list; another video is new.
            try await store.log.append([
                Self.observation(round * 5, views: 100 + round, seen: Int64(round) * 1_000),
                Self.observation(100 + round, views: 0),
            ])
        }
        #expect(found.joined().map(\.key) == (0..<60).reversed().map { "youtube:video\($0)" })
    }

    @Test func popularPagesNeverRepeatWhileViewsGrow() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        for number in 0..<40 {
            try await store.log.append([Self.observation(number, views: number)])
        }
        var round = 0
        let found = try await pages(store, .popular, limit: 10) {
            round += 1
            // A video on an earlier page gets more views, and a video that is not on any page yet
            // moves to the top.
            try await store.log.append([
                Self.observation(39, views: 100 + round, seen: Int64(round) * 1_000),
                Self.observation(3 + round, views: 200 + round, seen: Int64(round) * 1_000),
            ])
        }
        let keys = found.joined().map(\.key)
        #expect(Set(keys).count == keys.count)
        let missed = Set((0..<40).map { "youtube:video\($0)" }).subtracting(keys)
        #expect(missed == ["youtube:video4", "youtube:video5", "youtube:video6"])
    }

    @Test func olderObservationsFillMissingFields() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        var partial = SubmissionObserved()
        (partial.video, partial.views) = ("youtube:video1", 9)
        let late = try ProposedEvent(observation: partial, observedAt: Self.start + 5_000)
        // The newer observation arrives first.
        try await store.log.append([late])
        try await store.log.append([Self.observation(1, views: 2)])
        let entry = try await store.query {
            try VideoQueries($0).submission(video: "youtube:video1")
        }
        #expect(entry?.views == 9)
        #expect(entry?.title == "Video 1")
        #expect(entry?.owner == "ada@example.org")
    }

    // MARK: - At the remote

    @Test func listsAreReadWithoutALogin() async throws {
        try await BirdTubeStage.run { stage in
            let report = try await stage.sync()
            #expect(report.pulled > 30 && report.unreadable.isEmpty)
            let popular = try await pages(stage.store, .popular)
            #expect(popular.map(\.count) == [20, 10])
            #expect(popular.joined().map(\.views) == (1...30).reversed())
            #expect(popular.joined().map(\.key) == (1...30).reversed().map(BirdTubeStage.key))
            let new = try await pages(stage.store, .new)
            #expect(new.joined().map(\.key) == (1...30).map(BirdTubeStage.key))
            #expect(new.first?.first?.thumbnail == "https://example.org/1.jpg")
            #expect(try await stage.sync().pulled == 0)
        }
    }
}
