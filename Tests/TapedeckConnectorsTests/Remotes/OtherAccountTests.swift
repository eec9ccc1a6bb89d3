import Tapedeck
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// The view and the changes of each user in a store shared by devices of different accounts.
@Suite(.offTasks) struct OtherAccountTests {
    private let desk: WhaleDesk
    private let (ada, ben): (RemoteDevice, RemoteDevice)
    private let server = SequencingServer()

    init() throws {
        desk = try WhaleDesk()
        ada = desk.device
        ben = try RemoteDevice(
            desk.world, "whale", RemoteSecrets(user: "user2@example.org", password: "-"), seed: 8)
        for device in [ada, ben] {
            try device.sync()
            try signIn(account(of: device), on: device)
        }
    }

    /// Lets the store belong to a device's account.
    private func settle(on device: RemoteDevice) throws {
        desk.world.clock.advance(by: .seconds(1))
        try signIn(account(of: device), on: device)
        try exchange()
    }

    private func exchange() throws {
        for _ in 0..<2 { try server.sync(ada, ben) }
    }

    /// Syncs a device with the remote and with the other device, until all is sent.
    private func sync(_ device: RemoteDevice) throws {
        // The leases of the other device end, and the first round claims the changes.
        desk.world.clock.advance(by: .seconds(1_000))
        for _ in 0..<3 {
            #expect(try device.sync()?.failure == nil)
            try exchange()
        }
    }

    /// The changes that the remote has made, each with the account that sent it.
    private var effects: [String] {
        desk.world.simulator.effects.map { "\($0.account): \($0.kind.rawValue) \($0.entity)" }
    }

    private func isLiked(_ answer: String, on device: RemoteDevice) throws -> Bool {
        try #require(try device.query { try $0.answer(answer) }).isLiked
    }

    @Test func waitingChangesOfAnotherAccountHideNothing() throws {
        let like = LikeAnswer("3")
        let question = try AskQuestion("3", text: "How are you?")
        let waiting = [
            try #require(try ada.decide { try like.decide($0) }),
            try #require(try ada.decide { try question.decide($0) }),
        ]
        try exchange()
        try settle(on: ben)
        #expect(try !isLiked("3", on: ben))
        #expect(try isLiked("3", on: ada), "the other user still sees the own like")
        #expect(try ben.query { try $0.likers(of: "3") }.likers.isEmpty)
        let asked = try ben.query { try $0.questions(to: "3") }.questions.filter {
            $0.state == .asking
        }
        #expect(asked.map(\.sender) == ["1"])

        let own = [
            try #require(try ben.decide { try like.decide($0) }),
            try #require(try ben.decide { try question.decide($0) }),
        ]
        #expect(try ben.outbox().map(\.event.id).filter(own.contains).count == 2)
        #expect(try ben.decide { try like.decide($0) } == nil, "only the first one is recorded")
        #expect(try ben.decide { try question.decide($0) } == nil)
        try sync(ben)
        #expect(effects.sorted() == ["2: like 3", "2: question 3"])
        // The own like takes the place of the other user's in the outbox.
        #expect(try ben.outbox().map(\.event.id) == [waiting[1]])
        #expect(try isLiked("3", on: ben))
    }

    /// The remote keeps a like per user, so another user's later request changes nothing.
    @Test func deliveredLikesStayDeliveredWhenTheStoreChangesHands() throws {
        for device in [ada, ben] {
            desk.world.clock.advance(by: .seconds(1))
            #expect(try device.decide { try LikeAnswer("3").decide($0) } != nil)
        }
        try exchange()
        try settle(on: ben)
        try sync(ben)
        #expect(effects == ["2: like 3"])
        #expect(try ben.outbox().isEmpty, "the own like takes the place of the other user's")
        for device in [ada, ben, ada] {
            try settle(on: device)
            try sync(device)
            #expect(effects == ["2: like 3", "1: like 3"])
            for device in [ada, ben] { #expect(try device.outbox().isEmpty) }
        }
    }

    static let commands: [@Sendable (VideoQueries<Views>) throws -> [any Event]] = [
        { try LikeAnswer("3").decide($0) },
        { try AskQuestion("3", text: "Why?").decide($0) },
        { try CommentOnAnswer("3", text: "Well said.").decide($0) },
        { try FollowUser("3").decide($0) },
        { try EditProfile { $0.about = "I answer on Sundays." }.decide($0) },
        { try RecordAnswer(to: "4", recording: "r", .discard).decide($0) },
    ]

    /// The changes of such a device would never be sent.
    @Test(arguments: commands.indices)
    func deviceWhoseAccountWasReplacedMustSignIn(command: Int) throws {
        let decide = Self.commands[command]
        _ = try ada.query(decide)
        try exchange()
        try settle(on: ben)
        let error = #expect(throws: ModelError.self) { try ada.query(decide) }
        #expect(error?.code == .signInRequired)
        try settle(on: ada)
        _ = try ada.query(decide)
    }

    static let shelbyCommands: [@Sendable (VideoQueries<Views>) throws -> [any Event]] = [
        {
            try ShareVideo("vimeo:1", to: ["email"], recipients: ["eve@example.org"]).decide($0)
        },
        { try LikeVideo("vimeo:1").decide($0) },
        { try CommentOnVideo("vimeo:1", text: "Well said.").decide($0) },
        { try MarkWatchLater("vimeo:1").decide($0) },
    ]

    @Test(arguments: shelbyCommands.indices)
    func deviceWhoseShelbyAccountWasReplacedMustSignIn(command: Int) throws {
        let decide = Self.shelbyCommands[command]
        try ada.append(BroadcastReceived.with { ($0.broadcast, $0.video) = ("b1", "vimeo:1") })
        for (device, user) in [(ada, "ada"), (ben, "ben")] {
            desk.world.clock.advance(by: .seconds(1))
            try device.append(SignedIn.with { ($0.account, $0.system) = (user, "shelby") })
        }
        _ = try ada.query(decide)
        try exchange()
        try ben.decide { try SignIn("ben", at: "shelby").decide($0, on: ben.store.log.origin) }
        try exchange()
        let error = #expect(throws: ModelError.self) { try ada.query(decide) }
        #expect(error?.code == .signInRequired)
    }

    @Test func waitingSubmissionsOfAnotherAccountHideNothing() throws {
        func signedIn(_ account: String) -> SignedIn {
            .with { ($0.account, $0.system) = (account, "birdtube") }
        }
        let submit = try SubmitVideo("youtube:aqz-KE-bpKQ")
        try ada.append(signedIn("ada"))
        try ben.append(signedIn("ben"))
        #expect(try ada.decide { try submit.decide($0) } != nil)
        try exchange()
        #expect(try ada.decide { try submit.decide($0) } == nil)
        #expect(try ben.decide { try submit.decide($0) } != nil)
        #expect(try ben.decide { try submit.decide($0) } == nil)
    }
}
