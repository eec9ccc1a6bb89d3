import Foundation
import Synchronization
import TapedeckTesting

/// # A network that fails, between devices and a server
///
/// It listens on a port of this machine and carries bytes to the server's port and back. What goes wrong
/// with a connection is drawn when it is accepted, from a seeded source, so the same seed gives the same
/// plan; which request of which process meets it is up to the system.
///
/// A thread carries one connection, both ways. `calm()` ends the faults and all connections.
final class FaultProxy: Sendable {
    /// What happens to one connection.
    enum Fault: Hashable, Sendable {
        case none
        /// Every piece comes so much later, both ways.
        case delay(milliseconds: Int)
        /// Both sides are reset behind so many bytes of requests.
        case cutRequest(bytes: Int)
        /// Both sides are reset behind so many bytes of answers: the server has done what was asked.
        case cutAnswer(bytes: Int)
        /// The device sees an orderly end behind so many bytes of answers.
        case truncateAnswer(bytes: Int)
        /// Accepted; nothing goes on or comes back for so long, then it is reset.
        case halfOpen(milliseconds: Int)
        /// Reset at once, and all others for so long.
        case refuse(milliseconds: Int)

        var name: String { String("\(self)".prefix { $0 != "(" }) }
    }

    private struct State {
        var random: SeededGenerator
        var faultyPercent = 0
        /// Connections of earlier generations are reset.
        var generation = 0
        var refusesUntil = Date.distantPast
        var isStopped = false
        var counts: [String: Int] = [:]
    }

    /// Where it listens.
    let port: Int
    private let target: Int
    private let listener: Int32
    private let state: Mutex<State>

    /// Begins to listen, without faults; `stop()` has to be called.
    init(to target: Int, _ random: SeededGenerator) throws {
        self.target = target
        state = Mutex(State(random: random))
        (listener, port) = try LocalSocket.listening()
        Thread.detachNewThread { [self] in serve() }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// How many of the coming connections fail in some way.
    func setFaulty(percent: Int) { state.withLock { $0.faultyPercent = percent } }

    /// Ends all faults; connections begin anew.
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

    /// How many connections met what.
    var summary: String {
        state.withLock(\.counts).sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }

    // MARK: - The plan

    private func draw() -> (fault: Fault, generation: Int) {
        state.withLock { state in
            var fault = Fault.none
            // Drawn in any case, so that a refusal shifts nothing.
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
        // Within the first head, within a small message, or within a page.
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

    // MARK: - Carrying

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
            case .goesOn: continue
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
        case goesOn
        /// A side has ended it in an orderly way, or seems to have.
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

    /// Carries what there is, and waits a little where there is nothing.
    mutating func step() -> Step {
        let ready = LocalSocket.readable(device, server, milliseconds: 50)
        if ready.first {
            var limit = Int.max
            if case .cutRequest(let bytes) = fault { limit = bytes - requestBytes }
            let moved = move(from: device, to: server, limit, end: .isCut)
            requestBytes += moved.count
            guard case .goesOn = moved.step else { return moved.step }
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
        return .goesOn
    }

    private mutating func move(
        from source: Int32, to target: Int32, _ limit: Int, end: Step
    ) -> (count: Int, step: Step) {
        let count = recv(source, &buffer, buffer.count, 0)
        guard count > 0 else { return (0, .isOver) }
        if case .delay(let milliseconds) = fault { usleep(UInt32(milliseconds) * 1_000) }
        let part = min(count, limit)
        guard LocalSocket.write(buffer.prefix(part), to: target) else { return (part, .isOver) }
        return (part, count >= limit ? end : .goesOn)
    }
}
