import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import Testing

/// A simulator of Shelby's 2012–2014 API with its data, for the tests of the connector.
struct ShelbyV1Rig {
    let world: RemoteWorld

    init(_ adversary: SimulatorAdversary = .none, seed: UInt64 = 7) {
        world = RemoteWorld { ShelbyV1Simulator(seed: seed, at: $0, adversary: adversary) }
    }

    func device(seed: UInt64 = 1) throws -> RemoteDevice {
        try RemoteDevice(
            world, "shelby",
            RemoteSecrets(user: SimulatorAccount.user, password: SimulatorAccount.password),
            seed: seed, root: "/v1")
    }

    // MARK: - The remote

    func shelby() throws -> ShelbyV1Simulator {
        try #require(world.simulator as? ShelbyV1Simulator)
    }

    func change(_ body: (inout ShelbyV1World) throws -> Void) throws {
        var shelby = try shelby()
        try body(&shelby.world)
        world.simulator = shelby
    }

    func account() throws -> ShelbyV1World.User {
        try #require(
            try shelby().world.users.values.first { $0.email == SimulatorAccount.user })
    }

    func key(_ frame: ShelbyV1World.Frame) throws -> String? {
        try frame.video.flatMap { id in try shelby().world.videos[id] }.map {
            "\($0.provider):\($0.providerID)"
        }
    }

    /// Returns the frames on the account's dashboard that the original client would have shown.
    func shown() throws -> [ShelbyV1World.Frame] {
        let (shelby, account) = (try shelby().world, try account())
        var shown: [String: ShelbyV1World.Frame] = [:]
        for entry in shelby.entries.values where entry.user == account.id {
            guard ![3, 9, 10].contains(entry.action), let id = entry.frame,
                let frame = shelby.frames[id], frame.video != nil,
                frame.creator != nil || [31, 33].contains(entry.action)
            else { continue }
            shown[id] = frame
        }
        return shown.values.sorted { $0.id < $1.id }
    }

    /// Returns the copies of frames that represent the account's likes.
    func copies() throws -> [ShelbyV1World.Frame] {
        let account = try account()
        return try shelby().world.frames.values.filter {
            $0.type == 1 && $0.creator == account.id && $0.roll != nil
        }
    }

    /// Returns the videos on the account's dashboard that allow comments and have no likes.
    func untouched() throws -> [String] {
        let frames = try shown()
        let groups = try Dictionary(grouping: frames) { try key($0) ?? "" }
        return groups.filter { group in
            group.value.allSatisfy { $0.conversation != nil && $0.upvoters.isEmpty }
        }.keys.sorted()
    }

    /// Shares more videos with the account as another user, one per second up to the current time.
    func share(_ count: Int) throws {
        let (account, now) = (try account(), Int64(world.clock.milliseconds))
        let videos = try shelby().world.videos.keys.sorted()
        let creator = try #require(
            try shelby().world.users.keys.sorted().first { $0 != account.id })
        try change { shelby in
            for number in 0..<count {
                let time = now - Int64(count - number) * 1_000
                let talk = shelby.makeID(at: time)
                shelby.conversations[talk] = ShelbyV1World.Conversation(id: talk)
                let frame = ShelbyV1World.Frame(
                    id: shelby.makeID(at: time), creator: creator,
                    roll: shelby.users[creator]?.publicRoll,
                    video: videos[number % videos.count], conversation: talk)
                shelby.frames[frame.id] = frame
                let entry = ShelbyV1World.Entry(
                    id: shelby.makeID(at: time), user: account.id, frame: frame.id)
                shelby.entries[entry.id] = entry
            }
        }
    }

    /// Adds older frames to the account's own roll, but no frame of the first video in
    /// `untouched()`.
    func fillRoll(_ count: Int) throws {
        let (account, now) = (try account(), Int64(world.clock.milliseconds))
        let first = try untouched().first
        let videos = try shelby().world.videos.values.filter {
            "\($0.provider):\($0.providerID)" != first
        }.map(\.id).sorted()
        try change { shelby in
            for number in 0..<count {
                let frame = ShelbyV1World.Frame(
                    id: shelby.makeID(at: now - Int64(number + 1) * 60_000), creator: account.id,
                    roll: account.publicRoll, video: videos[number % videos.count],
                    conversation: nil)
                shelby.frames[frame.id] = frame
            }
        }
    }

    func effects(_ kind: SimulatorEffect.Kind) throws -> [SimulatorEffect] {
        let account = try account()
        return world.simulator.effects.filter { $0.kind == kind && $0.account == account.id }
    }

    // MARK: - The user

    static func liked(_ video: String, _ isOn: Bool) -> LikeToggled {
        var event = LikeToggled()
        event.video = video
        event.isOn = isOn
        return event
    }

    static func comment(_ video: String, _ text: String) -> CommentPosted {
        var event = CommentPosted()
        event.video = video
        event.text = text
        return event
    }

    static func shared(_ video: String, _ text: String) -> VideoShared {
        var event = VideoShared()
        event.video = video
        event.destinations = ["twitter", "facebook"]
        event.text = text
        return event
    }

    static func watched(_ video: String, to end: Double) -> VideoWatched {
        var event = VideoWatched()
        event.video = video
        event.startSeconds = 0
        event.endSeconds = end
        event.isComplete = true
        return event
    }
}

extension RemoteDevice {
    /// Returns all recorded events of a type.
    func recorded<E: Event>(_ type: E.Type) throws -> [E] {
        var found: [E] = []
        var after = LogPosition(rawValue: 0)
        while true {
            let events = try store.log.events(after: after, limit: 1_000, type: E.eventType)
            found += try events.map { try $0.decode(type) }
            guard let last = events.last, events.count == 1_000 else { return found }
            after = last.position
        }
    }
}
