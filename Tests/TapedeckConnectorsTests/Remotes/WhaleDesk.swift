import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import Testing

/// A device that syncs with a Whale simulator, and the actions of its user.
struct WhaleDesk {
    let world: RemoteWorld
    let device: RemoteDevice

    static let secrets = RemoteSecrets(
        user: SimulatorAccount.user, password: SimulatorAccount.password)

    /// - Parameter small: Whether the simulator has a small fixed world instead of its default
    ///   world.
    init(small: Bool = true, _ adversary: SimulatorAdversary = .none, seed: UInt64 = 7) throws {
        world = RemoteWorld { now in
            small
                ? WhaleSimulator(
                    world: WhaleDesk.few(at: now), seed: seed, adversary: adversary)
                : WhaleSimulator(seed: seed, at: now, adversary: adversary)
        }
        device = try RemoteDevice(world, "whale", WhaleDesk.secrets, seed: seed)
    }

    /// Returns a world with three users, three answers and two open questions.
    ///
    /// The first user owns the account, and both questions are for this user.
    private static func few(at now: Int64) -> WhaleWorld {
        var world = WhaleWorld()
        for number in 1...3 {
            world.users.append(
                WhaleWorld.User(
                    id: number, firstName: "First\(number)", lastName: "Last",
                    username: "user\(number)",
                    email: number == 1 ? SimulatorAccount.user : "user\(number)@example.org",
                    password: number == 1 ? SimulatorAccount.password : "-",
                    insertedAt: now - 900_000))
        }
        for number in 1...5 {
            world.questions.append(
                WhaleWorld.Question(
                    id: number, content: "question \(number)?", sender: 2,
                    receiver: number > 3 ? 1 : 3, insertedAt: now - 800_000 + Int64(number)))
        }
        for number in 1...3 {
            world.answers.append(
                WhaleWorld.Answer(
                    id: number, question: number, videoURL: "http://media.example.org/\(number)",
                    thumbnailURL: "http://media.example.org/\(number).jpg",
                    insertedAt: now - 700_000 + Int64(number)))
            world.comments.append(
                WhaleWorld.Comment(
                    id: number, content: "nice", answer: number, commenter: 2,
                    insertedAt: now - 600_000 + Int64(number)))
        }
        world.likes.append(
            WhaleWorld.Like(id: 1, user: 3, answer: 2, insertedAt: now - 500_000))
        return world
    }

    var whale: WhaleSimulator {
        get throws { try #require(world.simulator as? WhaleSimulator) }
    }

    /// Changes the data on the remote.
    func change(_ body: (inout WhaleSimulator) throws -> Void) throws {
        var whale = try whale
        try body(&whale)
        world.simulator = whale
    }

    /// Adds 250 answered questions, so that the list of answers has several pages.
    func addAnswers(insertedAt: (Int) -> Int64) throws {
        try change { whale in
            for number in 10..<260 {
                whale.world.questions.append(
                    WhaleWorld.Question(
                        id: number, content: "q", sender: 2, receiver: 3, insertedAt: 1))
                whale.world.answers.append(
                    WhaleWorld.Answer(
                        id: number, question: number,
                        videoURL: "http://media.example.org/\(number)",
                        thumbnailURL: "http://media.example.org/\(number).jpg",
                        insertedAt: insertedAt(number)))
            }
        }
    }

    // MARK: - Actions of the user

    @discardableResult
    func comment(_ text: String, on answer: String = "1") throws -> EventID {
        var event = CommentPosted()
        event.answer = answer
        event.text = text
        return try device.append(event)
    }

    @discardableResult
    func like(_ answer: String, _ isOn: Bool = true) throws -> EventID {
        var event = LikeToggled()
        event.answer = answer
        event.isOn = isOn
        return try device.append(event)
    }

    @discardableResult
    func ask(_ text: String, _ receiver: String = "2") throws -> EventID {
        var event = QuestionAsked()
        event.receiver = receiver
        event.text = text
        return try device.append(event)
    }

    /// Records an edit of the user's own profile.
    @discardableResult
    func edit(_ write: (inout ProfileEdited) -> Void) throws -> EventID {
        var event = ProfileEdited()
        event.user = "1"
        write(&event)
        return try device.append(event)
    }

    /// Records an answer whose files are in the device's blob store, or elsewhere if `isHere` is
    /// false.
    @discardableResult
    func answer(_ question: String, isHere: Bool = true) throws -> EventID {
        var event = AnswerRecorded()
        event.question = question
        event.durationSeconds = 12
        event.videoExtension = "mov"
        event.thumbnailExtension = "jpg"
        let other = device.place.path("other")
        if !isHere { try EventLog.create(other).close() }
        let blobs = BlobStore(store: isHere ? device.place.directory : other)
        let file = device.place.path("file")
        try Data("moving pictures of \(question)".utf8).write(to: URL(fileURLWithPath: file))
        event.blob = try blobs.add(contentsOf: file)
        try Data("a still of \(question)".utf8).write(to: URL(fileURLWithPath: file))
        event.thumbnail = try blobs.add(contentsOf: file)
        return try device.append(event)
    }

    // MARK: - Results

    /// Syncs once per minute until no intent is pending, at most the given number of times.
    func settle(_ times: Int = 20) throws {
        for _ in 0..<times {
            try device.sync()
            let isDone = try device.outbox().allSatisfy(\.isOver)
            if isDone { return }
            world.clock.advance(by: .seconds(60))
        }
    }

    func texts(_ answer: String = "1") throws -> [String] {
        try device.query { try $0.comments(answer: answer).comments.compactMap(\.text) }
    }

    /// The effects of intents on the remote, one per line, sorted.
    var effects: [String] {
        world.simulator.effects.map { "\($0.kind.rawValue) \($0.entity) \($0.text)" }.sorted()
    }
}

/// Interrupts the first request that matches a predicate.
final class Shears {
    private(set) var cuts = 0

    /// - Parameter isAfter: Whether the remote receives the interrupted request.
    init(
        _ world: RemoteWorld, isAfter: Bool, fits: @escaping (RemoteRequest) -> Bool
    ) {
        world.weather = { [self] request in
            guard cuts == 0, fits(request) else { return nil }
            cuts += 1
            var adversary = world.simulator.adversary
            if isAfter { adversary.cutAfterRate = 1 } else { adversary.cutBeforeRate = 1 }
            return adversary
        }
    }
}
