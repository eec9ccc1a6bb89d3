import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckTesting
import Testing

/// A store that is connected to a simulated BirdTube over HTTP.
final class BirdTubeStage: Sendable {
    let store: TapedeckStore
    let remotes: StoreRemotes
    let url: String
    private let place: TemporaryStore
    private let server: SimulatorServer

    static let credentials = RemoteCredentials(
        user: SimulatorAccount.user, password: SimulatorAccount.password)

    private init(_ place: TemporaryStore, _ server: SimulatorServer, at url: String) throws {
        (self.place, self.server, self.url) = (place, server, url)
        store = try place.open(
            projections: VideoProjections.standard.all + Connectors.projections)
        remotes = StoreRemotes(store.log, store.projections)
    }

    /// Runs the simulator while `body` runs; the store's clock follows the system clock.
    static func run(_ body: @Sendable (BirdTubeStage) async throws -> Void) async throws {
        let place = try TemporaryStore("birdtube")
        let now = SimulatorServer.Configuration.systemTime
        place.clock.set(milliseconds: UInt64(now()))
        let (urls, listens) = AsyncStream.makeStream(of: String.self)
        let server = SimulatorServer(
            BirdTubeSimulator(world: world(at: now())),
            configuration: .init(endsOnSignals: false, onListening: { listens.yield($0) }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listens.finish() }
                try await server.run()
            }
            group.addTask {
                while !Task.isCancelled {
                    place.clock.set(milliseconds: UInt64(now()))
                    try? await Task.sleep(for: .milliseconds(2))
                }
            }
            let url = try #require(await urls.first { _ in true })
            let stage = try BirdTubeStage(place, server, at: url)
            let result: Result<Void, any Error>
            do {
                try stage.connect()
                try await body(stage)
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await server.shutDown()
            group.cancelAll()
            while let ended = await group.nextResult() { _ = ended }
            try result.get()
        }
        #expect(server.simulator.violations.isEmpty)
    }

    /// Returns three users, 120 chat messages, and 30 videos; the video with number N has N views.
    private static func world(at now: Int64) -> BirdTubeWorld {
        var world = BirdTubeWorld()
        for number in 1...3 {
            world.users.append(
                BirdTubeWorld.User(
                    id: Int64(number),
                    email: number == 1 ? SimulatorAccount.user : "user\(number)@example.org",
                    nickname: "user\(number)",
                    password: number == 1 ? SimulatorAccount.password : "password\(number)",
                    session: "session\(number)", sendbirdID: "sendbird\(number)", createdAt: 0))
        }
        for number in 1...30 {
            world.videos.append(
                BirdTubeWorld.Video(
                    id: id(number), url: "https://youtu.be/\(id(number))",
                    title: "Video \(number)", thumbnail: "https://example.org/\(number).jpg",
                    owner: 2, createdAt: now - 9_000_000 - Int64(number) * 1_000,
                    channel: "channel\(number)", viewer: number))
        }
        for number in 1...120 {
            world.messages.append(
                BirdTubeWorld.Message(
                    id: Int64(number), channel: "channel1",
                    at: now - 8_000_000 + Int64(number / 60), text: "m\(number)",
                    sender: "sendbird3", senderName: "user3"))
        }
        return world
    }

    static func id(_ number: Int) -> String { "video\(100_000 + number)" }
    static func key(_ number: Int) -> String { "youtube:\(id(number))" }

    @available(*, noasync)
    private func connectBlocking() throws {
        try remotes.add("birds", system: "birdtube", url: url)
    }

    private func connect() throws { try connectBlocking() }

    func disconnect() throws { try disconnectBlocking() }

    @available(*, noasync)
    private func disconnectBlocking() throws { try remotes.remove("birds") }

    func logIn(_ credentials: RemoteCredentials = credentials) async throws {
        try await remotes.logIn("birds", credentials)
    }

    @discardableResult
    func sync() async throws -> RemoteReport {
        let report = try await remotes.sync("birds")
        #expect(report.failure == nil)
        return report
    }

    /// The simulated system's effects, in order.
    var effects: [String] {
        server.simulator.effects.map { "\($0.kind.rawValue) \($0.entity) \($0.text)" }
    }
}
