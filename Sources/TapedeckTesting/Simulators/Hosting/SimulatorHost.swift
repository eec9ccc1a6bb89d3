internal import Foundation
internal import Synchronization

/// A simulator and its clock, shared by many connections.
final class SimulatorHost: Sendable {
    private struct State {
        var simulator: any RemoteSimulator
        /// The offset of the simulator's clock from the real clock, in milliseconds.
        var aheadMilliseconds: Int64 = 0
    }

    private let state: Mutex<State>
    private let clock: @Sendable () -> Int64
    private let journal: SimulatorJournal?

    /// Creates a host, and replays the requests from the journal.
    init(
        _ simulator: any RemoteSimulator, journal: SimulatorJournal? = nil,
        now: @escaping @Sendable () -> Int64
    ) {
        var state = State(simulator: simulator)
        for entry in journal?.takePast() ?? [] {
            _ = SimulatorHost.handle(entry.request, at: entry.time, &state)
        }
        self.state = Mutex(state)
        self.journal = journal
        clock = now
    }

    var simulator: any RemoteSimulator { state.withLock { $0.simulator } }

    /// Returns the answer to a request; the `Date` header of a response comes from the simulator's
    /// clock.
    func respond(to request: SimulatedRequest) -> SimulatedAnswer {
        state.withLock { state in
            let time = clock()
            if let journal, !journal.append(request, at: time) { return .cut }
            let answer = SimulatorHost.handle(request, at: time, &state)
            guard var response = answer.response else { return .cut }
            let date = SimulatedTime.http(time + state.aheadMilliseconds)
            response.headers.append(SimulatedField("Date", date))
            return .answer(response)
        }
    }

    /// Handles a request; the result depends only on the state and the time.
    private static func handle(
        _ request: SimulatedRequest, at time: Int64, _ state: inout State
    ) -> SimulatedAnswer {
        if request.segments.first == controlFolder {
            return .answer(control(request, at: time, &state))
        }
        return state.simulator.respond(to: request, at: time + state.aheadMilliseconds)
    }

    // MARK: - Checker controls

    private static let controlFolder = "_simulator"

    private static func control(
        _ request: SimulatedRequest, at time: Int64, _ state: inout State
    ) -> SimulatedResponse {
        state.simulator.advance(to: time + state.aheadMilliseconds)
        switch (request.method, request.segments.dropFirst().joined(separator: "/")) {
        case ("GET", "effects"): return list(state.simulator.effects)
        case ("GET", "violations"): return list(state.simulator.violations)
        case ("POST", "advance"):
            let text = request.query.first { $0.name == "ms" }?.value ?? ""
            guard let step = Int64(text), (0...stepMax).contains(step) else {
                return .json(400, ["error": "ms must be 0 or more"])
            }
            state.aheadMilliseconds += step
            let now = time + state.aheadMilliseconds
            state.simulator.advance(to: now)
            return .json(200, ["now": .int(now)])
        case ("POST", "expire-tokens"):
            state.simulator.expireTokens()
            return .empty(204)
        case ("POST", "calm"):
            state.simulator.adversary = .none
            return .empty(204)
        default:
            return .json(404, ["error": "unknown control"])
        }
    }

    /// The maximum step, a hundred years; larger steps could overflow.
    private static let stepMax = 36_500 * SimulatedTime.dayMilliseconds

    private static func list(_ rows: some Encodable) -> SimulatedResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(rows) else { return .empty(500) }
        return SimulatedResponse(
            status: 200, headers: [SimulatedField("Content-Type", "application/json")],
            body: Array(data))
    }
}
