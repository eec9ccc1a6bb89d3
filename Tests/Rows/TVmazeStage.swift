import Tapedeck
import TapedeckConnectors
import TapedeckTesting
import Testing

/// A store that reads a simulated TVmaze over HTTP, as the remote `tv`; the scenario advances the
/// clock.
///
/// TVmaze has five shows on networks in the United States; one of them airs daily.
final class TVmazeStage: Sendable {
    let place: TemporaryStore
    private let server: SimulatorServer

    private init(_ place: TemporaryStore, _ server: SimulatorServer) {
        (self.place, self.server) = (place, server)
    }

    /// Runs a scenario that begins at the given time.
    ///
    /// - Parameter others: The mean time between changes of the schedule; nil for no changes.
    static func run(
        _ name: String, at now: String, others: Duration? = nil,
        _ scenario: (TVmazeStage) async throws -> Void
    ) async throws {
        let clock = ManualClock(milliseconds: UInt64(try time(now).milliseconds))
        let place = try TemporaryStore(name, clock: clock)
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = others.map { $0.components.seconds * 1_000 }
        adversary.deletionRate = 0.3
        let seed = SeededGenerator.fromEnvironment().seed
        print("TAPEDECK_SEED=\(seed)")
        let maze = TVmazeSimulator(
            world: try world(at: Int64(clock.milliseconds)), seed: seed, adversary: adversary)
        let (urls, listens) = AsyncStream.makeStream(of: String.self)
        let server = SimulatorServer(
            maze,
            configuration: .init(
                endsOnSignals: false, now: { Int64(clock.milliseconds) },
                onListening: { listens.yield($0) }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listens.finish() }
                try await server.run()
            }
            let url = try #require(await urls.first { _ in true })
            let stage = TVmazeStage(place, server)
            try stage.connect(url)
            try await scenario(stage)
            await server.shutDown()
            try await group.waitForAll()
        }
    }

    private static func world(at now: Int64) throws -> TVmazeWorld {
        var made = TVmazeWorld(seed: 11, at: now)
        let onNetworks = made.shows.values.filter {
            $0.channel.country?.code == "US" && !$0.channel.isWeb
        }
        let kept =
            onNetworks
            .sorted { ($0.weekdays.count, $1.id) > ($1.weekdays.count, $0.id) }
            .prefix(5).map(\.id)
        made.shows = made.shows.filter { kept.contains($0.key) }
        made.casts = made.casts.filter { kept.contains($0.key) }
        made.episodes = made.episodes.filter { kept.contains($0.value.show) }
        return made
    }

    func open() throws -> TapedeckStore {
        try place.open(projections: VideoProjections.standard.all + Connectors.projections)
    }

    private func connect(_ url: String) throws {
        let store = try open()
        defer { store.close() }
        try StoreRemotes(store.log, store.projections).add("tv", system: "tvmaze", url: url)
    }

    /// The current data of TVmaze.
    var world: TVmazeWorld {
        get throws { try #require(server.simulator as? TVmazeSimulator).world }
    }

    /// Stops TVmaze.
    func end() async { await server.shutDown() }

    /// Lets time pass for the store and for TVmaze.
    ///
    /// The dates in HTTP responses are in whole seconds and follow the real clock. This function
    /// therefore also waits in real time, so that two responses never have the same date.
    func wait(_ duration: Duration) async throws {
        place.clock.advance(by: duration)
        try await Task.sleep(for: .seconds(2))
    }

    @discardableResult
    func sync(_ store: TapedeckStore) async throws -> RemoteReport {
        try await StoreRemotes(store.log, store.projections).sync("tv")
    }

    /// Returns the episodes of the current week.
    func week(_ store: TapedeckStore) async throws -> [ScheduleWeek.Episode] {
        let now = UTCTime(milliseconds: Int64(place.clock.milliseconds))
        let scope = try ScheduleScope()
        return try await store.query {
            try VideoQueries($0).schedule(at: now, scope: scope)
        }.days.flatMap(\.episodes)
    }
}
