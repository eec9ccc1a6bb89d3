import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import Testing

/// A device that syncs with a BirdTube simulator, and the actions of its user.
struct BirdTubeDesk {
    let world: RemoteWorld
    let device: RemoteDevice

    static let secrets = RemoteSecrets(
        user: SimulatorAccount.user, password: SimulatorAccount.password)

    /// - Parameters:
    ///   - small: Whether the simulator has a small fixed world instead of its default world.
    ///   - isSignedIn: Whether the device is logged in.
    init(
        small: Bool = true, isSignedIn: Bool = true, _ adversary: SimulatorAdversary = .none,
        seed: UInt64 = 7
    ) throws {
        world = RemoteWorld { now in
            small
                ? BirdTubeSimulator(
                    world: BirdTubeDesk.few(at: now), seed: seed, adversary: adversary)
                : BirdTubeSimulator(seed: seed, at: now, adversary: adversary)
        }
        device = try RemoteDevice(
            world, "birdtube", isSignedIn ? BirdTubeDesk.secrets : nil, seed: seed)
    }

    /// Returns the key of a video in the small world; the videos are numbered from 1.
    static func key(_ number: Int) -> String { "youtube:\(id(number))" }
    static func id(_ number: Int) -> String { "videovideo\(number)" }
    static func channel(_ number: Int) -> String { "channel.\(number)" }

    /// Returns a world with three users, the first of whom is the account's user, and three videos
    /// with one message each.
    private static func few(at now: Int64) -> BirdTubeWorld {
        var world = BirdTubeWorld()
        for number in 1...3 {
            world.users.append(
                BirdTubeWorld.User(
                    id: Int64(number),
                    email: number == 1 ? SimulatorAccount.user : "user\(number)@example.org",
                    nickname: "user\(number)",
                    password: number == 1 ? SimulatorAccount.password : "-",
                    session: "session\(number)", sendbirdID: "sendbird\(number)",
                    createdAt: now - 9_000_000))
            world.videos.append(video(number, at: now - 8_000_000 + Int64(number) * 60_000))
            world.messages.append(
                BirdTubeWorld.Message(
                    id: Int64(number), channel: channel(number), at: now - 7_000_000, text: "nice",
                    sender: "sendbird2", senderName: "user2"))
        }
        return world
    }

    static func video(_ number: Int, at time: Int64, viewer: Int = 0) -> BirdTubeWorld.Video {
        BirdTubeWorld.Video(
            id: id(number), url: "https://youtu.be/\(id(number))", title: "Video \(number)",
            thumbnail: "https://i.ytimg.com/vi/\(id(number))/0.jpg", owner: 2, createdAt: time,
            channel: channel(number), viewer: viewer)
    }

    var birdTube: BirdTubeSimulator {
        get throws { try #require(world.simulator as? BirdTubeSimulator) }
    }

    /// Changes the data on the remote.
    func change(_ body: (inout BirdTubeSimulator) -> Void) throws {
        var birdTube = try birdTube
        body(&birdTube)
        world.simulator = birdTube
    }

    // MARK: - Actions of the user

    @discardableResult
    func submit(_ video: String, title: String = "Mine") throws -> EventID {
        try device.append(VideoSubmitted.with { ($0.video, $0.title) = (video, title) })
    }

    @discardableResult
    func say(
        _ text: String, beside video: String = key(1), as sender: String? = SimulatorAccount.user
    ) throws -> EventID {
        try device.append(
            ChatMessagePosted.with {
                ($0.video, $0.text) = (video, text)
                if let sender { $0.sender = sender }
            })
    }

    /// - Parameter hours: The time of the opening, in hours from now.
    @discardableResult
    func open(
        _ video: String = key(1), by viewer: String = "me", viewing: String, hours: Double = 0
    ) throws -> EventID {
        let event = VideoOpened.with {
            ($0.video, $0.viewer, $0.viewing) = (video, viewer, viewing)
        }
        let time = Double(world.clock.milliseconds) + hours * 3_600_000
        return try device.store.log.appendBlocking([
            ProposedEvent(event, atMilliseconds: UInt64(time))
        ]).firstID
    }

    // MARK: - Results

    /// Syncs once per minute until no intent is pending, at most the given number of times.
    func settle(_ times: Int = 20) throws {
        for _ in 0..<times {
            try device.sync()
            if try device.outbox().allSatisfy(\.isOver) { return }
            world.clock.advance(by: .seconds(60))
        }
    }

    func texts(_ video: String = key(1)) throws -> [String] {
        try device.query {
            try $0.chat(video: video, isGuestAllowed: true, limit: 500).messages.map {
                $0.text ?? $0.file?.url ?? ""
            }
        }
    }

    /// The effects of intents on the remote, one per line, sorted.
    var effects: [String] {
        world.simulator.effects.map { "\($0.kind.rawValue) \($0.entity) \($0.text)" }.sorted()
    }

    func requests(_ path: String) -> Int { world.requests.count { $0.path == path } }
}
