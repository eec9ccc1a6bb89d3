import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckTesting
import Testing

/// BT1: Accounts with nicknames; reading needs no account, but submitting and chatting require
/// signing in.
@Suite struct BT1Tests {
    private static let video = "youtube:dQw4w9WgXcQ"

    private static func observation(
        _ account: String, _ more: (inout AccountObserved) -> Void = { _ in }
    ) throws -> ProposedEvent {
        var event = AccountObserved.with { ($0.account, $0.system) = (account, BirdTube.system) }
        more(&event)
        return try ProposedEvent(observation: event, observedAt: 1_500_000_000_000)
    }

    private func signIn(_ store: TapedeckStore, _ account: String) async throws {
        try await store.append([
            SignedIn.with { ($0.account, $0.system) = (account, BirdTube.system) }
        ])
    }

    private func accounts(_ store: TapedeckStore) async throws -> [AccountEntry] {
        try await store.query { try VideoQueries($0).accounts().accounts }
    }

    @Test func nicknameDefaultsToTheLocalPartOfTheEmail() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        try await signIn(store, "ada@example.org")
        try await store.log.append([
            Self.observation("7") { $0.email = "grace@example.org" },
            Self.observation("8") { ($0.email, $0.nickname) = ("linus@example.org", "Tux") },
        ])
        let found = try await accounts(store)
        #expect(found.map(\.nickname) == ["ada", "grace", "Tux"])
        #expect(found.map(\.isSignedIn) == [true, false, false])
        try #require(found.count == 3)
        #expect(found[1].email == "grace@example.org" && found[0].email == nil)
    }

    @Test func submissionsShowTheNicknameOfTheirOwner() async throws {
        let place = try TemporaryStore()
        let store = try place.open()
        let video = SubmissionObserved.with { ($0.video, $0.owner) = (Self.video, "8") }
        try await store.log.append([
            ProposedEvent(observation: video, observedAt: nil),
            Self.observation("8") { $0.nickname = "Tux" },
        ])
        let entry = try await store.query { try VideoQueries($0).submission(video: Self.video) }
        #expect(entry?.nickname == "Tux")
    }

    @Test func submittingAndChattingRequireSigningIn() async throws {
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
            // Nothing was recorded; reading needs no account.
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
        // A sign-in to another system does not count.
        try await store.append([SignedIn.with { ($0.account, $0.system) = ("ada", "whale") }])
        try await checkRefused()
        try await signIn(store, "ada@example.org")
        #expect(try await store.decide { try submit.decide(VideoQueries($0)) } != nil)
        #expect(try await store.decide { try post.decide(VideoQueries($0)) } != nil)
    }

    // MARK: - At the remote

    @Test func loginsLastUntilTheConnectionEnds() async throws {
        try await BirdTubeStage.run { stage in
            let (store, submit) = (stage.store, try SubmitVideo(Self.video))
            try await stage.sync()
            await #expect(throws: (any Error).self) {
                try await store.decide { try submit.decide(VideoQueries($0)) }
            }
            try await stage.logIn()
            let found = try await accounts(store)
            #expect(found.map(\.account) == [SimulatorAccount.user])
            #expect(found.map(\.nickname) == ["user1"] && found.map(\.isSignedIn) == [true])
            // Neither a second login nor a sync records a sign-in.
            let head = store.log.head
            try await stage.logIn()
            try await stage.sync()
            #expect(try await accounts(store) == found)
            #expect(try signings(store, after: head) == 0)
            #expect(try await store.decide { try submit.decide(VideoQueries($0)) } != nil)
            // Another account is refused, whether or not the user is signed in, and nothing is
            // recorded.
            func refusal() async -> ErrorCode? {
                let error = await #expect(throws: SyncError.self) {
                    try await stage.logIn(
                        RemoteCredentials(user: "user2@example.org", password: "password2"))
                }
                return error?.code
            }
            #expect(await refusal() == .conditionFailed)
            #expect(try await accounts(store) == found)
            try await stage.remotes.logOut("birds")
            // A logout of this device leaves the user signed in.
            #expect(try await accounts(store) == found)
            #expect(await refusal() == .conditionFailed)
            #expect(try await accounts(store) == found)
            try await stage.logIn()
            #expect(try await accounts(store).map(\.isSignedIn) == [true])
            try stage.disconnect()
            #expect(try await accounts(store).map(\.isSignedIn) == [false])
        }
    }

    @Test func signingUpCreatesAnAccountOnce() async throws {
        try await BirdTubeStage.run { stage in
            let grace = RemoteCredentials(user: "grace@example.org", password: "compiler")
            func refusal(_ isNew: Bool, _ credentials: RemoteCredentials) async -> ErrorCode? {
                let error = await #expect(throws: SyncError.self) {
                    try await stage.remotes.logIn("birds", credentials, isNew: isNew)
                }
                return error?.code
            }
            #expect(await refusal(false, grace) == .notFound)
            #expect(try await accounts(stage.store).isEmpty)
            try await stage.remotes.logIn("birds", grace, isNew: true)
            let found = try await accounts(stage.store)
            #expect(found.map(\.nickname) == ["grace"] && found.map(\.isSignedIn) == [true])
            #expect(await refusal(true, grace) == .conditionFailed)
            let wrong = RemoteCredentials(user: "grace@example.org", password: "no")
            #expect(await refusal(false, wrong) == .unauthorized)
            #expect(try await accounts(stage.store) == found)
        }
    }

    /// Returns the number of sign-ins and sign-outs after a position.
    private func signings(_ store: TapedeckStore, after position: LogPosition) throws -> Int {
        try store.log.events(after: position).count {
            [SignedIn.eventType, SignedOut.eventType].contains($0.type)
        }
    }
}
