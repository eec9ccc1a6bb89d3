import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// BT1: accounts with a nickname; reading takes none, handing in and chatting ask to sign in.
@Suite struct BT1Tests {
    private static let video = "youtube:dQw4w9WgXcQ"

    private static func sighting(
        _ account: String, _ more: (inout AccountObserved) -> Void = { _ in }
    ) throws -> ProposedEvent {
        var event = AccountObserved.with { ($0.account, $0.system) = (account, BirdTube.system) }
        more(&event)
        return try ProposedEvent(sighting: event, observedAt: 1_500_000_000_000)
    }

    private func signIn(_ store: TapedeckStore, _ account: String) async throws {
        try await store.append([
            SignedIn.with { ($0.account, $0.system) = (account, BirdTube.system) }
        ])
    }

    private func accounts(_ store: TapedeckStore) async throws -> [AccountEntry] {
        try await store.query { try VideoQueries($0).accounts().accounts }
    }

    @Test func theNicknameIsWhatStandsBeforeTheAt() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await signIn(store, "ada@example.org")
        try await store.log.append([
            Self.sighting("7") { $0.email = "grace@example.org" },
            Self.sighting("8") { ($0.email, $0.nickname) = ("linus@example.org", "Tux") },
        ])
        let found = try await accounts(store)
        #expect(found.map(\.nickname) == ["ada", "grace", "Tux"])
        #expect(found.map(\.isSignedIn) == [true, false, false])
        try #require(found.count == 3)
        #expect(found[1].email == "grace@example.org" && found[0].email == nil)
    }

    @Test func submittersAreCalledByTheirNicknames() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        let video = SubmissionObserved.with { ($0.video, $0.owner) = (Self.video, "8") }
        try await store.log.append([
            ProposedEvent(sighting: video, observedAt: nil),
            Self.sighting("8") { $0.nickname = "Tux" },
        ])
        let entry = try await store.query { try VideoQueries($0).submission(video: Self.video) }
        #expect(entry?.nickname == "Tux")
    }

    @Test func whatNeedsAnAccountAsksToSignIn() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        let submit = try SubmitVideo(Self.video)
        let post = try PostChatMessage(Self.video, text: "hello")
        func checkRefused() async throws {
            let refusals = [
                await #expect(throws: (any Error).self) {
                    try await store.decide { try submit.decide(VideoQueries($0)) }
                },
                await #expect(throws: (any Error).self) {
                    try await store.decide { try post.decide(VideoQueries($0)) }
                },
                await #expect(throws: (any Error).self) {
                    try await store.query { try VideoQueries($0).chat(video: Self.video) }
                },
            ]
            for refusal in refusals {
                #expect((refusal as? any CodedError)?.code == .signInRequired)
            }
            // Nothing was recorded, and whoever only looks needs no account.
            let seen = try await store.query {
                let queries = VideoQueries($0)
                return (
                    try queries.submissions().videos.count,
                    try queries.chat(video: Self.video, isGuestAllowed: true).messages.count
                )
            }
            #expect(seen == (0, 0))
        }
        try await checkRefused()
        try await signIn(store, "ada@example.org")
        try await store.append([
            SignedOut.with { ($0.account, $0.system) = ("ada@example.org", BirdTube.system) }
        ])
        try await checkRefused()
        // An account at another system is none here.
        try await store.append([SignedIn.with { ($0.account, $0.system) = ("ada", "whale") }])
        try await checkRefused()
        try await signIn(store, "ada@example.org")
        #expect(try await store.decide { try submit.decide(VideoQueries($0)) } != nil)
        #expect(try await store.decide { try post.decide(VideoQueries($0)) } != nil)
    }
}
