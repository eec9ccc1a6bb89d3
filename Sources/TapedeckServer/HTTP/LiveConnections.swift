internal import ServiceLifecycle
internal import Synchronization
internal import TapedeckModel

/// The connections that receive new heads.
///
/// Each connection receives the space's current head immediately and a new head after each change;
/// a slow connection receives only the latest head. One timer for all connections repeats the
/// current head periodically, as a keep-alive message.
final class LiveConnections: Service {
    private let state = Mutex(State())
    private let gate: RequestGate
    private let interval: Duration

    private struct State {
        var connections: [SpaceID: [Int: AsyncStream<LiveMessage>.Continuation]] = [:]
        var heads: [SpaceID: SpaceHead] = [:]
        var count = 0
        var lastNumber = 0
        var isFinished = false
    }

    init(_ gate: RequestGate, reminds interval: Duration) {
        self.gate = gate
        self.interval = interval
    }

    var count: Int { state.withLock(\.count) }

    /// Adds a connection.
    ///
    /// - Parameter head: The head read before this call; a head announced since then takes
    ///   precedence.
    func connect(
        _ space: SpaceID, _ head: SpaceHead
    ) throws(ServerError) -> AsyncStream<LiveMessage> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LiveMessage.self, bufferingPolicy: .bufferingNewest(1))
        let refusal = state.withLock { state -> ServerError? in
            if state.isFinished {
                return ServerError(
                    .unavailable, "the server is shutting down", hint: "try again later")
            }
            let others = state.connections[space]?.count ?? 0
            guard others < ServerLimits.liveConnectionsPerSpaceMax else {
                return ServerError(
                    .throttled, "the space already has \(others) live connections",
                    hint: "close some of the connections, or pull periodically instead")
            }
            state.lastNumber += 1
            state.count += 1
            let number = state.lastNumber
            continuation.onTermination = { [weak self] _ in self?.leave(space, number) }
            state.connections[space, default: [:]][number] = continuation
            let present = state.heads[space] ?? head
            state.heads[space] = present
            continuation.yield(LiveMessage(present))
            return nil
        }
        if let refusal { throw refusal }
        return stream
    }

    private func leave(_ space: SpaceID, _ number: Int) {
        state.withLock { state in
            guard state.connections[space]?.removeValue(forKey: number) != nil else { return }
            state.count -= 1
            if state.connections[space]?.isEmpty == true { state.connections[space] = nil }
        }
    }

    func announce(_ space: SpaceID, _ head: SpaceHead) {
        let listeners = state.withLock { state in
            state.heads[space] = head
            return state.connections[space].map { Array($0.values) } ?? []
        }
        yield(head, to: listeners)
    }

    private func remind() {
        let (connections, heads) = state.withLock { ($0.connections, $0.heads) }
        for (space, listeners) in connections {
            guard let head = heads[space] else { continue }
            yield(head, to: listeners.values)
        }
    }

    private func yield(
        _ head: SpaceHead, to listeners: some Collection<AsyncStream<LiveMessage>.Continuation>
    ) {
        guard !listeners.isEmpty else { return }
        let message = LiveMessage(head)
        for listener in listeners { listener.yield(message) }
    }

    /// Repeats the heads periodically, and ends all connections when the server shuts down.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: self.interval)) != nil {
                self.remind()
            }
        }
        gate.shut()
        finish()
    }

    private func finish() {
        let all = state.withLock { state in
            state.isFinished = true
            return state.connections.values.flatMap(\.values)
        }
        for connection in all { connection.finish() }
    }
}
