import Foundation
import Synchronization
import TapedeckTesting

/// A proxy between devices and a server that simulates network faults.
///
/// It listens on a local port and forwards bytes to the server's port and back. When it accepts a
/// connection, it chooses the connection's fault with a seeded random generator. The same seed
/// therefore gives the same plan of faults, but the operating system determines which request meets
/// which fault.
///
/// Each connection has one thread for both directions. `calm()` ends the faults and all
/// connections.
final class FaultProxy: Sendable {
    /// The fault of one connection.
    enum Fault: Hashable, Sendable {
        case none
        /// Every piece of data is delayed, in both directions.
        case delay(milliseconds: Int)
        /// Both sides are reset after the given number of request bytes.
        case cutRequest(bytes: Int)
        /// Both sides are reset after the given number of response bytes; the server executed the
        /// request.
        case cutAnswer(bytes: Int)
        /// The connection is closed normally after the given number of response bytes.
        case truncateAnswer(bytes: Int)
        /// The proxy accepts the connection, forwards nothing for the given time, and then resets
        /// it.
        case halfOpen(milliseconds: Int)
        /// The connection is reset immediately, and so are all other connections during the given
        /// time.
        case refuse(milliseconds: Int)

        var name: String { String("\(self)".prefix { $0 != "(" }) }
    }

    private struct State {
        var random: SeededGenerator
        var faultyPercent = 0
        /// The number of calls of `calm()`; connections from before the last call are reset.
        var generation = 0
        var refusesUntil = Date.distantPast
        var isStopped = false
        var counts: [String: Int] = [:]
    }

    /// The port on which the proxy listens.
    let port: Int
    private let target: Int
    private let listener: Int32
    private let state: Mutex<State>

    /// Starts listening, without faults; the caller must call `stop()` at the end.
    init(to target: Int, _ random: SeededGenerator) throws {
        self.target = target
        state = Mutex(State(random: random))
        (listener, port) = try LocalSocket.listening()
        Thread.detachNewThread { [self] in serve() }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Sets the percentage of new connections that get a fault.
    func setFaulty(percent: Int) { state.withLock { $0.faultyPercent = percent } }

    /// Ends all faults and resets all connections.
    func calm() {
        state.withLock { state in
            state.faultyPercent = 0
            state.generation += 1
            state.refusesUntil = .distantPast
        }
    }

    func stop() {
        calm()
        state.withLock { $0.isStopped = true }
    }

    /// The number of connections for each fault.
    var summary: String {
        state.withLock(\.counts).sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }

    // MARK: - The plan

    private func draw() -> (fault: Fault, generation: Int) {
        state.withLock { state in
            var fault = Fault.none
            // Choose a fault for every connection, so that a refusal does not change the plan of
            // later connections.
            let drawn = FaultProxy.drawn(&state.random)
            if state.random.below(100) < state.faultyPercent { fault = drawn }
            if Date() < state.refusesUntil { fault = .refuse(milliseconds: 0) }
            if case .refuse(let milliseconds) = fault, milliseconds > 0 {
                state.refusesUntil = Date(timeIntervalSinceNow: Double(milliseconds) / 1_000)
            }
            state.counts[fault.name, default: 0] += 1
            return (fault, state.generation)
        }
    }

    private static func drawn(_ random: inout SeededGenerator) -> Fault {
        // The connection is cut within the first header, a small message, or a page.
        let bytes = random.below([64, 1_500, 20_000][random.below(3)])
        let milliseconds = 1 + random.below(400)
        switch random.below(8) {
        case 0: return .delay(milliseconds: 1 + milliseconds / 4)
        case 1, 2: return .cutRequest(bytes: bytes)
        case 3, 4: return .cutAnswer(bytes: bytes)
        case 5: return .truncateAnswer(bytes: bytes)
        case 6: return .halfOpen(milliseconds: milliseconds * 3)
        default: return .refuse(milliseconds: milliseconds)
        }
    }

    private func isCurrent(_ generation: Int) -> Bool {
        state.withLock { $0.generation == generation && !$0.isStopped }
    }

    // MARK: - Forwarding

    private func serve() {
        while !state.withLock(\.isStopped) {
            guard LocalSocket.isReadable(listener, milliseconds: 50) else { continue }
            let device = accept(listener, nil, nil)
            guard device >= 0 else { continue }
            LocalSocket.prepare(device)
            let (fault, generation) = draw()
            Thread.detachNewThread { [self] in carry(device, fault, generation) }
        }
        close(listener)
    }

    private func carry(_ device: Int32, _ fault: Fault, _ generation: Int) {
        switch fault {
        case .refuse: return LocalSocket.reset(device)
        case .halfOpen(let milliseconds):
            let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1_000)
            while Date() < end, isCurrent(generation) { usleep(5_000) }
            return LocalSocket.reset(device)
        default: break
        }
        guard let server = LocalSocket.connected(to: target) else {
            return LocalSocket.reset(device)
        }
        var way = Way(device: device, server: server, fault: fault)
        while isCurrent(generation) {
            switch way.step() {
            case .continues: continue
            case .isOver:
                close(device)
                close(server)
                return
            case .isCut:
                LocalSocket.reset(device)
                LocalSocket.reset(server)
                return
            }
        }
        LocalSocket.reset(device)
        LocalSocket.reset(server)
    }
}

/// One connection through the proxy.
private struct Way {
    enum Step {
        case continues
        /// The connection has ended without a reset, or the proxy must make it look so.
        case isOver
        case isCut
    }

    let device: Int32
    let server: Int32
    let fault: FaultProxy.Fault
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)
    private var requestBytes = 0
    private var answerBytes = 0

    init(device: Int32, server: Int32, fault: FaultProxy.Fault) {
        self.device = device
        self.server = server
        self.fault = fault
    }

    /// Forwards the available bytes; waits briefly if there are none.
    mutating func step() -> Step {
        let ready = LocalSocket.readable(device, server, milliseconds: 50)
        if ready.first {
            var limit = Int.max
            if case .cutRequest(let bytes) = fault { limit = bytes - requestBytes }
            let moved = move(from: device, to: server, limit, end: .isCut)
            requestBytes += moved.count
            guard case .continues = moved.step else { return moved.step }
        }
        if ready.second {
            var limit = Int.max
            var end = Step.isCut
            switch fault {
            case .cutAnswer(let bytes): limit = bytes - answerBytes
            case .truncateAnswer(let bytes):
                limit = bytes - answerBytes
                end = .isOver
            default: break
            }
            let moved = move(from: server, to: device, limit, end: end)
            answerBytes += moved.count
            return moved.step
        }
        return .continues
    }

    private mutating func move(
        from source: Int32, to target: Int32, _ limit: Int, end: Step
    ) -> (count: Int, step: Step) {
        let count = recv(source, &buffer, buffer.count, 0)
        guard count > 0 else { return (0, .isOver) }
        if case .delay(let milliseconds) = fault { usleep(UInt32(milliseconds) * 1_000) }
        let part = min(count, limit)
        guard LocalSocket.write(buffer.prefix(part), to: target) else { return (part, .isOver) }
        return (part, count >= limit ? end : .continues)
    }
}
