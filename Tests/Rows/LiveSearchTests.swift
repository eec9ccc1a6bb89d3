import Tapedeck
import TapedeckTesting
import Testing

/// Live search results, and live questions to the signed-in user.
@Suite struct LiveSearchTests {
    @Test func newHitsReachLiveSearches() async throws {
        let place = try TemporaryStore("live-search")
        let store = try place.open()
        defer { store.close() }
        func share(_ broadcast: String, _ title: String, _ sharer: String, hour: Int) async throws {
            var event = BroadcastReceived()
            event.broadcast = broadcast
            event.video = "youtube:\(broadcast)"
            event.title = title
            event.sharer = sharer
            event.createdAt.seconds = Int64(1_600_000_000 + 3_600 * hour)
            try await store.append([event])
        }
        try await share("a", "Red car", "zoe", hour: 1)
        try await share("b", "Blue boat", "ada", hour: 2)
        var updates = store.live(try LiveSearch("car", limit: 2)).makeAsyncIterator()
        var hits: [SearchHit] = []
        try #require(try await updates.next()).apply(to: &hits)
        #expect(hits.map(\.id) == ["youtube:a"])
        try await share("c", "Cargo", "ada", hour: 3)
        try #require(try await updates.next()).apply(to: &hits)
        // Whole words rank before prefixes.
        #expect(hits.map(\.id) == ["youtube:a", "youtube:c"])
        try await share("d", "A boat", "bob", hour: 4)
        try await share("e", "Green car", "bob", hour: 5)
        let update = try #require(try await updates.next())
        update.apply(to: &hits)
        #expect(hits.map(\.id) == ["youtube:e", "youtube:a"] && update.hasMore)
        #expect(update.changes.count == 2, "expected one insertion and one removal")
    }

    @Test func titlesOfFurtherBroadcastsReachLiveSearches() throws {
        let place = try TemporaryStore("live-titles")
        let store = try place.open()
        defer { store.close() }
        let loop = LiveLoop(store.projections, try LiveSearch("second"))
        var hits: [SearchHit] = []
        func share(_ broadcast: String, _ title: String, hour: Int) throws -> [String]? {
            var event = BroadcastReceived()
            (event.broadcast, event.video, event.title) = (broadcast, "vimeo:1", title)
            event.createdAt.seconds = Int64(1_600_000_000 + 3_600 * hour)
            place.clock.advance(by: .seconds(1))
            event.updatedAt.seconds = Int64(store.log.now() / 1_000)
            try store.log.appendBlocking([try ProposedEvent(event)])
            guard let update = try loop.look() else { return nil }
            update.apply(to: &hits)
            return hits.first.map { $0.texts.map(\.text) } ?? []
        }
        #expect(try share("b1", "First", hour: 1) == [])
        #expect(try share("b2", "Second", hour: 2) == ["First", "Second"])
        #expect(try share("b3", "A second", hour: 0) == ["A second"])
        #expect(try share("b3", "Another", hour: 0) == ["Another", "Second"])
        #expect(try share("b2", "Third", hour: 2) == [])
        #expect(hits.isEmpty)
    }

    @Test func ownQuestionsFollowTheSignedInUser() throws {
        let place = try TemporaryStore("live-asked")
        let store = try place.open()
        defer { store.close() }
        let own: ArrangedList<QuestionEntry, QuestionEntry> = .ownQuestions()
        let loop = LiveLoop(store.projections, own)
        let first = try #require(try loop.look())
        #expect(first.changes.isEmpty && first.state.failures.map(\.code) == [.signInRequired])
        func asked(_ question: String, _ receiver: String) throws -> QuestionObserved {
            var event = QuestionObserved()
            event.question = question
            event.receiver = receiver
            event.sender = "9"
            event.text = "why?"
            return event
        }
        func signedIn(_ account: String, _ isOn: Bool) throws -> any Event {
            guard isOn else {
                var event = SignedOut()
                (event.account, event.system) = (account, Whale.system)
                return event
            }
            var event = SignedIn()
            (event.account, event.system) = (account, Whale.system)
            return event
        }
        func append(_ events: any Event...) throws {
            place.clock.advance(by: .seconds(1))
            try store.log.appendBlocking(try events.map { try ProposedEvent($0) })
        }
        var list: [QuestionEntry] = []
        func look() throws -> LiveState? {
            let update = try loop.look()
            update?.apply(to: &list)
            return update?.state
        }
        try append(asked("1", "7"), asked("2", "8"), asked("3", "7"))
        #expect(try look() == nil)
        try append(signedIn("7", true))
        #expect(try look() == LiveState())
        #expect(list.map(\.id) == ["3", "1"])
        try append(signedIn("7", false), signedIn("8", true))
        #expect(try look() == LiveState())
        #expect(list.map(\.id) == ["2"])
        try append(signedIn("8", false))
        #expect(try look()?.failures.map(\.code) == [.signInRequired])
        #expect(list.isEmpty)
    }
}
