import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckServer
@testable import TapedeckSync
import TapedeckSyncProtocol
import TapedeckTesting

/// A simulation of devices, a server and a network, on one thread and in virtual time.
///
/// One seed determines everything: when devices append, which messages are lost, delayed or
/// delivered twice, which devices crash, which stores are copied or restored, when the server is
/// wiped or restored, and which clocks jump. The engine's own session and the server's own
/// sequencing run on real log files; only the transport and time are simulated.
///
/// Invariants, checked during the run or at the end (`Simulation+Invariants.swift`):
/// 1. All devices end with the same events, in the same states.
/// 2. No acknowledged event is lost, unless every copy of it was destroyed.
/// 3. No event takes effect twice, even if its id has changed.
/// 4. Once the network works, everything is delivered in bounded time.
/// 5. A settled device has delivered everything.
/// 6. No clock follows the stamps of a device whose clock is wrong.
/// 7. `verify` finds no problem in any log, and no unexpected error is thrown.
/// 8. Every intent for a remote takes effect once. If the outcome cannot be determined, the intent
///    takes effect at most once and is reported as unknown.
///
/// The trace has one line per event: time, actor, action.
final class Simulation {
    var random: SeededGenerator
    let options: SimulationOptions
    let base: String
    var now: UInt64 = 1_700_000_000_000
    let start: UInt64 = 1_700_000_000_000
    var devices: [Device] = []
    let server: InMemoryStorage
    let space: SpaceID
    /// Incremented by each wipe and each rollback of the server.
    var serverLife = 0
    var serverSkew: Int64 = 0
    var latestServerTime: UInt64 = 0
    /// The payloads that every device must have at the end.
    var required: Set<UInt64> = []
    var nextPayload: UInt64 = 1
    var nextTick: UInt64 = 0
    /// The number of events that compaction has removed.
    var removed: UInt64 = 0
    var trace: [String] = []
    var board = Board()
    /// The intents for the simulated remote (`Board`).
    var wishes: [(kind: String, text: String)] = []
    var failure: String?
    let clock: SharedClock
    private var queue: [(at: UInt64, order: UInt64, what: () throws -> Void)] = []
    private var order: UInt64 = 0
    var areFaultsOver = false

    /// The clock for the logs and the server, which require `Sendable` closures.
    final class SharedClock: @unchecked Sendable {
        // Only one thread drives the simulation.
        var now: UInt64 = 0
        /// The time on a monotonic clock, which changes to wall clocks do not affect.
        var steady: UInt64 = 0
        var random = SeededGenerator(seed: 0)
    }

    init(seed: UInt64, options given: SimulationOptions? = nil, planted: PlantedBug? = nil) {
        random = SeededGenerator(seed: seed)
        var drawn = SimulationOptions(&random)
        if let given { drawn = given }
        drawn.planted = planted
        options = drawn
        base = NSTemporaryDirectory() + "tapedeck-sim-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let clock = SharedClock()
        clock.random = SeededGenerator(seed: seed ^ 0xA5A5)
        self.clock = clock
        let refused = drawn.refusedPercent
        server = InMemoryStorage(
            refuses: { event in
                event.id.sequence % 100 < refused && event.id.sequence > 2
                    ? ErrorCode(rawValue: "policy") : nil
            },
            now: { clock.now },
            randomLineage: {
                LineageID(high: clock.random.next(), low: clock.random.next())
            })
        space = server.space(named: "default")
    }

    /// Removes the simulation's files, and its pending actions, which retain the simulation and its
    /// stores.
    func end() {
        queue.removeAll()
        try? FileManager.default.removeItem(atPath: base)
    }

    // MARK: - Time

    func say(_ who: String, _ what: @autoclosure () -> String) {
        trace.append("\(String(now - start).leftPadded(8)) \(who.leftPadded(6)) \(what())")
    }

    func schedule(after delay: UInt64, _ what: @escaping () throws -> Void) {
        order += 1
        queue.append((now + delay, order, what))
    }

    /// Runs until a time, or until nothing is left to do.
    func run(until end: UInt64) throws {
        while failure == nil {
            guard
                let index = queue.indices.min(by: {
                    (queue[$0].at, queue[$0].order) < (queue[$1].at, queue[$1].order)
                }), queue[index].at <= end
            else { break }
            let next = queue.remove(at: index)
            now = max(now, next.at)
            clock.steady = now
            clock.now = UInt64(max(0, Int64(now) + serverSkew))
            latestServerTime = max(latestServerTime, clock.now)
            try next.what()
        }
        now = max(now, end)
    }

    // MARK: - A schedule

    /// Runs the complete schedule and returns a description of the failure, or nil.
    func runSchedule() -> String? {
        do {
            try FileManager.default.createDirectory(
                atPath: base, withIntermediateDirectories: true)
            for number in 0..<options.devices { try addDevice("d\(number)") }
            planFaults()
            for _ in 0..<options.appends {
                let at = random.below(options.faultsUntil)
                schedule(after: at) { [self] in try appendSomewhere() }
            }
            if options.hasBoard {
                for _ in 0..<(2 + random.below(12)) {
                    let at = random.below(options.faultsUntil)
                    schedule(after: at) { [self] in try wishSomewhere() }
                }
            }
            try run(until: start + options.faultsUntil)
            try settle()
            if failure == nil { try checkEnd() }
        } catch {
            failure = failure ?? "threw \(error)"
        }
        for device in devices { device.shutDown() }
        return failure
    }

    /// Ends the faults and waits until every device is settled.
    private func settle() throws {
        areFaultsOver = true
        say("net", "heals")
        for device in devices {
            device.isCutOff = (false, false)
            if !device.isUp { try device.startUp() }
        }
        // The rounds last much longer than the longest backoff plus a claim by each device for each
        // intent.
        for round in 0..<(options.hasBoard ? 120 : 40) where failure == nil {
            try run(until: now + 30_000)
            // Nudge at least once, because a connection to a server that was wiped does not report
            // the new head.
            if try round > 0 && isQuiet() && isBoardDone() { break }
            if isQuiet(), now > start + options.faultsUntil + 600_000 { continue }
            if options.planted != .waitWithoutTimer {
                for device in devices { try device.nudge() }
            }
        }
        for device in devices where failure == nil && options.hasBoard {
            if let left = try device.board.outbox().first(where: { !$0.isOver }) {
                failure =
                    "invariant 4: long after the network recovered, \(device.name) has not delivered"
                    + " \(left.event.id.short): \(left.state)"
            }
        }
        if failure == nil, !isQuiet() {
            failure =
                "invariant 4: long after the network recovered, "
                + devices.map { "\($0.name) is \($0.phaseText)" }.joined(separator: ", ")
        }
    }

    private func isBoardDone() throws -> Bool {
        guard options.hasBoard else { return true }
        return try devices.allSatisfy { try $0.board.outbox().allSatisfy(\.isOver) }
    }

    private func isQuiet() -> Bool {
        devices.allSatisfy { $0.isSettled && $0.hasSeen(head: serverHead) }
    }

    var serverHead: UInt64 { (try? server.head(of: space).position) ?? 0 }

    func addDevice(_ name: String) throws {
        let device = Device(name, in: self, skew: skew())
        devices.append(device)
        try device.startUp()
    }

    /// Returns a clock skew: usually 0, sometimes seconds, sometimes years.
    func skew() -> Int64 {
        switch random.below(6) {
        case 0: 3_600_000 * 24 * 365 * 15
        case 1: -3_600_000 * 24 * 365 * 10
        case 2: Int64(random.below(20_000)) - 10_000
        default: 0
        }
    }

    func appendSomewhere() throws {
        let up = devices.filter(\.isUp)
        guard !up.isEmpty else { return }
        try up[random.below(up.count)].append()
    }
}

extension String {
    fileprivate func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - utf8.count)) + self
    }
}
