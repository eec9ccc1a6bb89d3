import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckTesting
import Testing

/// BT5: The chat of a video, ordered by time and number: each message once, the user's own at the end until the
/// server shows them.
@Suite struct BT5Tests {
    private static let video = "youtube:dQw4w9WgXcQ"
    private static let start: Int64 = 1_500_000_000_000

    private static func message(
        _ number: Int64, at: Int64, text: String? = nil, seen: Int64 = 0,
        _ more: (inout ChatMessageObserved) -> Void = { _ in }
    ) throws -> ProposedEvent {
        var event = ChatMessageObserved.with {
            ($0.message, $0.video, $0.kind, $0.text) = (number, video, "text", text ?? "m\(number)")
            ($0.sender, $0.senderName) = ("ada", "Ada")
            $0.at = .init(milliseconds: start + at)
        }
        more(&event)
        return try ProposedEvent(observation: event, observedAt: start + 100_000 + seen)
    }

    /// Opens a store and signs a user in.
    private func open(_ place: TemporaryStore) async throws -> TapedeckStore {
        let store = try place.open()
        try await store.append([
            SignedIn.with { ($0.account, $0.system) = ("ada@example.org", BirdTube.system) }
        ])
        return store
    }

    private func chat(
        _ store: TapedeckStore, before: Int64? = nil, blocked: Bool = false, limit: Int = 50,
        cursor: String? = nil
    ) async throws -> ChatPage {
        try await store.query {
            try VideoQueries($0).chat(
                video: Self.video, before: before, isWithBlocked: blocked, limit: limit,
                cursor: cursor)
        }
    }

    @Test func chatPagesGoFromNewestToOldest() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        // Live messages arrive before the history, and some of them arrive twice.
        let numbers = Array(1...120).shuffled()
        for number in numbers + numbers.prefix(30) {
            try await store.log.append([Self.message(Int64(number), at: Int64(number) * 10)])
        }
        var page = try await chat(store)
        try #require(page.messages.map(\.id) == (71...120).map(String.init))
        page = try await chat(store, before: page.messages[0].at.milliseconds)
        try #require(page.messages.map(\.id) == (21...70).map(String.init))
        let last = try await chat(store, before: page.messages[0].at.milliseconds)
        #expect(last.messages.map(\.id) == (1...20).map(String.init))
        #expect(last.next == nil)
        #expect(try await chat(store, cursor: page.next) == last)
    }

    @Test func pagesNeverSplitMessagesOfTheSameTime() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        for number in 1...30 {
            let at: Int64 = number <= 5 ? 1 : number <= 20 ? 2 : 3
            try await store.log.append([Self.message(Int64(number), at: at)])
        }
        let page = try await chat(store, limit: 12)
        try #require(page.messages.map(\.id) == (6...30).map(String.init))
        let older = try await chat(store, before: page.messages[0].at.milliseconds, limit: 3)
        #expect(older.messages.map(\.id) == (1...5).map(String.init))
        #expect(older.next == nil)
    }

    @Test func ownMessagesStayLastUntilTheServerShowsThem() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        func post(_ text: String) async throws -> EventID {
            let command = try PostChatMessage(Self.video, text: text)
            return try #require(
                try await store.decide { try command.decide(VideoQueries($0)) }?.firstID)
        }
        try await store.log.append([Self.message(1, at: 0)])
        let (one, two) = (try await post("one"), try await post("two"))
        // On the remote's clock, this message is later than the waiting messages.
        try await store.log.append([Self.message(2, at: 5_000_000_000_000)])
        var page = try await chat(store)
        #expect(page.messages.map(\.text) == ["m1", "m2", "one", "two"])
        #expect(page.messages.map(\.state) == [.shown, .shown, .waiting, .waiting])
        #expect(page.messages.map(\.id) == ["1", "2", one.description, two.description])
        #expect(page.messages.last?.sender?.id == "ada@example.org")
        #expect(page.messages.last?.sender?.name == "ada")

        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent) = (BirdTube.system, two.description)
            ($0.kind, $0.code) = (.refused, "tooLarge")
        }
        var refusal = try ProposedEvent(outcome)
        refusal.tags = [try Tag("video", Self.video)]
        try await store.log.append([
            Self.message(3, at: 10, text: "one") { $0.tempID = one.description }, refusal,
        ])
        page = try await chat(store)
        #expect(page.messages.map(\.id) == ["1", "3", "2", two.description])
        #expect(page.messages.last?.state == .refused && page.messages.last?.code == "tooLarge")
        try await store.log.append([
            Self.message(4, at: 20, text: "two") { $0.postedAs = two.description }
        ])
        #expect(try await chat(store).messages.map(\.id) == ["1", "3", "4", "2"])
        // Older pages contain no waiting messages.
        _ = try await post("three")
        #expect(try await chat(store, before: Self.start + 15).messages.map(\.id) == ["1", "3"])
    }

    @Test func chatsShowAllKindsAndHideBlockedMessages() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        try await store.log.append([
            Self.message(1, at: 1) { $0.isGuest = true },
            Self.message(2, at: 2) {
                ($0.kind, $0.text) = ("system", "Ada came")
                $0.clearSender()
                $0.clearSenderName()
            },
            Self.message(3, at: 3) { ($0.kind, $0.isOperator) = ("broadcast", true) },
            Self.message(4, at: 4) {
                $0.kind = "file"
                $0.clearText()
                $0.file = .with {
                    ($0.url, $0.name) = ("https://example.org/a.png", "a.png")
                    ($0.type, $0.bytes) = ("image/png", 12)
                }
            },
            Self.message(5, at: 5) { $0.isBlocked = true },
        ])
        let shown = try await chat(store).messages
        try #require(shown.map(\.kind) == ["text", "system", "broadcast", "file"])
        #expect(shown[0].isGuest && shown[2].isOperator && shown[1].sender == nil)
        #expect(shown[0].sender?.name == "Ada")
        #expect(shown[3].file?.bytes == 12 && shown[3].text == nil)
        let all = try await chat(store, blocked: true).messages
        #expect(all.map(\.id) == ["1", "2", "3", "4", "5"] && all.last?.isBlocked == true)
        // A moderator blocks one message and unblocks another; an older observation has no effect.
        try await store.log.append([
            Self.message(1, at: 1, seen: 9) { $0.isBlocked = true },
            Self.message(5, at: 5, seen: 9) { $0.isBlocked = false },
        ])
        try await store.log.append([Self.message(5, at: 5, seen: 4) { $0.isBlocked = true }])
        #expect(try await chat(store).messages.map(\.id) == ["2", "3", "4", "5"])
    }

    @Test func chatObserversReceiveEveryChange() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        var changes = store.observe(VideoChat()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        #expect(try await chat(store).messages.isEmpty)
        let posted = ChatMessagePosted.with { ($0.video, $0.text) = (Self.video, "own") }
        let id = try ProposedEvent(posted)
        let intent = try #require(try await store.log.append([id])?.firstID)
        func expectChange(_ events: [ProposedEvent]) async throws {
            if !events.isEmpty { try await store.log.append(events) }
            guard case .changes(let found)? = await changes.next() else {
                Issue.record("the observer received no change")
                return
            }
            #expect(found.count == 1)
        }
        try await expectChange([])
        try await expectChange([Self.message(1, at: 1)])
        // Neither a corrected text nor a refusal changes any count.
        try await expectChange([Self.message(1, at: 1, text: "corrected", seen: 1)])
        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent, $0.kind) = (BirdTube.system, intent.description, .refused)
        }
        var refusal = try ProposedEvent(outcome)
        refusal.tags = [try Tag("video", Self.video)]
        try await expectChange([refusal])
        try await expectChange([Self.message(2, at: 2) { $0.postedAs = intent.description }])
        #expect(try await chat(store).messages.map(\.text) == ["corrected", "m2"])
    }

    @Test func pagesFitTogetherWhileTheChatGrows() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        let count: Int64 = 3_000
        for first in stride(from: Int64(1), to: count, by: 1_000) {
            try await store.log.append(
                (first..<first + 1_000).map { try Self.message($0, at: $0) })
        }
        var joined: [String] = []
        var cursor: String?
        var newest = count
        repeat {
            let page = try await chat(store, cursor: cursor)
            joined.insert(contentsOf: page.messages.map(\.id), at: 0)
            cursor = page.next
            // Messages posted in the meantime are only on the newest page.
            newest += 1
            let posted = try await store.append([
                ChatMessagePosted.with { ($0.video, $0.text) = (Self.video, "own") }
            ])
            let id = posted.firstID
            try await store.log.append([
                Self.message(newest, at: newest) { $0.postedAs = id.description }
            ])
            let first = try await chat(store, limit: 1)
            try #require(first.messages.map(\.id) == [String(newest)])
        } while cursor != nil
        #expect(joined == (1...count).map(String.init))
    }

    // MARK: - At the remote

    @Test func savedMessagesAreIngested() async throws {
        let place = try TemporaryStore()
        let store = try await open(place)
        let resource = try IngestResource.named("birdtube/messages")
        let json = """
            [{"id":9,"timestamp":1500000000009,"text":"later","sender":{"id":"u","name":"U"}},\
            {"id":4,"timestamp":1500000000001,"text":"first","isGuestMessage":true},\
            {"id":9,"timestamp":1500000000009,"text":"later","sender":{"id":"u","name":"U"}},\
            {"id":5,"timestamp":1500000000009,"text":"hidden","isBlocked":true},\
            {"id":6,"timestamp":1500000000009,"file":{"url":"https://example.org/a.png"}}]
            """
        let read = try resource.read(Array(json.utf8), video: Self.video, observedAt: Self.start)
        #expect(read.refused.isEmpty)
        try await store.log.append(read.proposals)
        let shown = try await chat(store).messages
        #expect(shown.map(\.id) == ["4", "6", "9"])
        #expect(shown.map(\.kind) == ["text", "file", "text"] && shown[0].isGuest)
        #expect(try await chat(store, blocked: true).messages.map(\.id) == ["4", "5", "6", "9"])
    }

    @Test func guestsReadTheChatAndMessagesArePostedOnce() async throws {
        try await BirdTubeStage.run { stage in
            let (store, key) = (stage.store, BirdTubeStage.key(1))
            func messages() async throws -> [ChatEntry] {
                try await store.query {
                    try VideoQueries($0).chat(video: key, isGuestAllowed: true, limit: 500).messages
                }
            }
            try await stage.sync()
            #expect(try await messages().map(\.text) == (1...120).map { "m\($0)" })
            try await stage.logIn()
            for text in ["hello", "hello"] {
                let post = try PostChatMessage(key, text: text)
                _ = try await store.decide { try post.decide(VideoQueries($0)) }
            }
            #expect(try await messages().suffix(2).map(\.state) == [.waiting, .waiting])
            for _ in 0..<3 { try await stage.sync() }
            let said = "comment \(BirdTubeStage.id(1)) hello"
            #expect(stage.effects == [said, said])
            let shown = try await messages()
            #expect(shown.count == 122 && shown.allSatisfy { $0.state == .shown })
            #expect(shown.suffix(2).map(\.id) == ["121", "122"])
        }
    }
}
