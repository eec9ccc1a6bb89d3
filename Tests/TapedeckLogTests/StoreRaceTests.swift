import Foundation
@testable import TapedeckLog
import TapedeckLMDB
import TapedeckModel
import TestSupport
import Testing

/// # Two processes that use one store, interrupted at every system call
///
/// Two processes create, open, restore, shrink and erase a store. Each process stops at every
/// system call that the other process can notice, and only one process runs at a time. A run
/// therefore depends only on its plan, not on timing. There are three kinds of plans:
///
/// - preemption: one process makes some calls, then the other runs as far as it can, then the first
///   runs to its end;
/// - random order: the seed determines which process runs next;
/// - kill or failure: one process is killed before a call, or the call fails, and the other process
///   runs afterwards.
///
/// After every run `Outcome.faults` is empty. `.ci/run` runs some plans, and `tools/soak races`
/// runs all plans.
@Suite(.serialized, .offTasks) struct StoreRaceTests {
    /// A command for a process.
    enum Command: String, CaseIterable {
        case create, append, look, restore, shrink, erase
    }

    struct Plan: CustomStringConvertible {
        var commands: [Command]
        var exists: Bool
        /// The calls of the first process before the second one begins.
        var calls = 0
        var ending = Ending.none
        /// The seed of a random order in which the processes run, used instead of `calls`.
        var seed: UInt64?

        enum Ending { case none, kill, fail }

        var description: String {
            let names = commands.map(\.rawValue).joined(separator: " beside ")
            let order = seed.map { "seed \($0)" } ?? "\(calls) calls"
            return "\(names), \(exists ? "with" : "without") a store, \(order), ending \(ending)"
        }
    }

    // MARK: - Plans

    @Test func storeSurvivesEveryPreemption() throws {
        let rig = try Rig()
        var random = SeededRandom(Seed.fresh())
        var runs = 0
        for exists in [false, true] {
            for first in Command.allCases {
                for second in Command.allCases {
                    let whole = Plan(commands: [first, second], exists: exists)
                    var plan = whole
                    plan.calls = .max
                    let count = try rig.run(plan)
                    for calls in places(count, &random) {
                        plan.calls = calls
                        _ = try rig.run(plan)
                        runs += 1
                    }
                }
            }
        }
        print("\(runs) preemptions")
    }

    /// The calls before which a run is interrupted: all of them in a soak test, otherwise a few.
    private func places(_ count: Int, _ random: inout SeededRandom, usual: Int = 2) -> [Int] {
        Soak.isOn
            ? Array(0...count) : (0..<usual).map { _ in .random(in: 0...count, using: &random) }
    }

    @Test func storeSurvivesRandomOrders() throws {
        let rig = try Rig()
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<Soak.count(80, soak: 20_000) {
            let commands = (0..<2).map { _ in random.pick(Command.allCases) }
            _ = try rig.run(
                Plan(commands: commands, exists: random.chance(50), seed: random.next()))
        }
    }

    @Test(arguments: [Plan.Ending.kill, .fail])
    func storeSurvivesAKillOrFailureAtEveryCall(_ ending: Plan.Ending) throws {
        let rig = try Rig()
        var random = SeededRandom(Seed.fresh())
        for exists in [false, true] {
            for first in Command.allCases {
                var plan = Plan(
                    commands: [first, .look], exists: exists, calls: .max, ending: ending)
                let count = try rig.run(plan)
                for calls in places(count, &random, usual: ending == .kill ? 2 : 4) {
                    plan.calls = calls
                    for second in Soak.isOn ? Command.allCases : [random.pick(Command.allCases)] {
                        plan.commands[1] = second
                        _ = try rig.run(plan)
                    }
                }
            }
        }
    }

    /// Deliberate faults must be detected.
    @Test func plantedFaultsAreFound() throws {
        let rig = try Rig()
        let lost = Outcome(
            plan: Plan(commands: [.append, .look], exists: true), results: ["ok s e", "ok s"],
            initial: Store(id: "s", events: []), final: nil)
        let forgotten = Outcome(
            plan: Plan(commands: [.append, .look], exists: true), results: ["ok s e", "ok s"],
            initial: Store(id: "s", events: []), final: Store(id: "s", events: []))
        let twice = Outcome(
            plan: Plan(commands: [.create, .create], exists: false), results: ["ok s", "ok t"],
            initial: nil, final: Store(id: "t", events: []))
        let strange = Outcome(
            plan: Plan(commands: [.append, .erase], exists: true),
            results: ["error damaged", "ok"], initial: Store(id: "s", events: []), final: nil)
        for outcome in [lost, forgotten, twice, strange] {
            #expect(!outcome.faults.isEmpty, "\(outcome.plan)")
        }
        _ = rig
    }
}

/// The store in the directory.
private struct Store: Equatable {
    var id: String
    var events: Set<String>
}

/// The outcome of a run.
private struct Outcome {
    let plan: StoreRaceTests.Plan
    /// The result of each process; nil if it was killed.
    let results: [String?]
    let initial: Store?
    let final: Store?

    private static let mayBe: [StoreRaceTests.Command: Set<Substring>] = [
        .create: ["storeExists", "busy"], .restore: ["storeExists", "busy"],
        .append: ["noStore", "busy"], .look: ["noStore", "busy"], .shrink: ["noStore", "busy"],
        .erase: ["noStore", "busy"],
    ]

    /// The violations of the guarantees in this run.
    var faults: [String] {
        var faults: [String] = []
        var (made, erased, mayBeErased) = (0, 0, false)
        var acknowledged: [(store: String, event: String)] = []
        for (number, (command, result)) in zip(plan.commands, results).enumerated() {
            let words = result?.split(separator: " ") ?? []
            let isDone = words.first == "ok"
            // A killed or failed command may or may not have taken effect.
            let isUncertain = number == 0 && plan.ending != .none && !isDone
            if words.first == "error", !isUncertain,
                Outcome.mayBe[command]?.contains(words[1]) != true
            {
                faults.append("\(command): \(result ?? "")")
            }
            switch command {
            case .create where isDone, .restore where isDone: made += 1
            case .append where isDone: acknowledged.append((String(words[1]), String(words[2])))
            case .erase where isDone: erased += 1
            case .erase where isUncertain: mayBeErased = true
            default: break
            }
        }
        let erasesMax = erased + (mayBeErased ? 1 : 0)
        if made > erasesMax + (initial == nil ? 1 : 0) { faults.append("created \(made) times") }
        guard erasesMax == 0 else { return faults }
        if let initial {
            acknowledged += initial.events.map { (initial.id, $0) }
            if final?.id != initial.id { faults.append("the store is missing or a different one") }
        } else if made > 0, final == nil {
            faults.append("the created store is missing")
        }
        for (store, event) in acknowledged
        where final?.id != store || final?.events.contains(event) != true {
            faults.append("event \(event) is lost")
        }
        return faults
    }
}

/// The processes and the store that they use.
private final class Rig {
    private let directory: TemporaryDirectory
    private let store: String
    private let backup: String
    private let template: String
    private var children: [SteppedChild] = []

    init() throws {
        directory = try TemporaryDirectory()
        (store, backup) = (directory.file("store"), directory.file("backup"))
        template = directory.file("template")
        let log = try EventLog.create(template, options: .init(mapSizeBytes: 1 << 20))
        try log.appendBlocking([.sample(1), .sample(2)])
        try log.backup(to: backup)
        log.close()
        children = try (0..<2).map { _ in try SteppedChild(store) }
    }

    /// Runs a plan, checks its outcome, and returns the number of calls that the first process
    /// made.
    func run(_ plan: StoreRaceTests.Plan) throws -> Int {
        try? FileManager.default.removeItem(atPath: store)
        if plan.exists {
            // The copied store contains the identity of the original file, so opening the copy here
            // gives it a new origin before the run begins.
            try FileManager.default.copyItem(atPath: template, toPath: store)
            try EventLog(opening: store, options: .init(mapSizeBytes: 1 << 20)).close()
        }
        let initial = try look()
        let (first, second) = (children[0], children[1])
        var callCount = 0
        first.begin(command(plan.commands[0]))
        if let seed = plan.seed {
            second.begin(command(plan.commands[1]))
            var random = SeededRandom(seed)
            try finish([first, second]) { random.chance(50) ? 0 : 1 }
        } else {
            while callCount < plan.calls, !first.isDone {
                first.go()
                callCount += 1
            }
            if !first.isDone {
                switch plan.ending {
                case .none: break
                case .kill: first.end()
                case .fail: first.fail()
                }
                if plan.ending == .fail { try finish([first]) { 0 } }
            }
            second.begin(command(plan.commands[1]))
            try finish([second, first]) { 0 }
        }
        let results = [first.result, second.result]
        for (number, child) in children.enumerated() where !child.isAlive {
            if plan.ending != .kill || number == 1 { Issue.record("\(plan): a process died") }
            children[number] = try SteppedChild(store)
        }
        let outcome = Outcome(plan: plan, results: results, initial: initial, final: try look())
        for fault in outcome.faults { Issue.record("\(plan): \(fault); \(results)") }
        try checkCleanliness(plan)
        return callCount
    }

    private func command(_ command: StoreRaceTests.Command) -> String {
        command == .restore ? "restore \(backup)" : command.rawValue
    }

    /// Runs all processes until they end.
    ///
    /// The next process to run is the preferred one, unless it has to wait.
    private func finish(_ all: [SteppedChild], _ preferred: () -> Int) throws {
        // The processes that have waited since another process last made progress.
        var waiting: Set<Int> = []
        while true {
            let active = all.indices.filter { !all[$0].isDone }
            guard !active.isEmpty else { return }
            let ready = active.filter { !waiting.contains($0) }
            let wanted = preferred()
            let next = try #require(
                ready.contains(wanted) ? wanted : ready.first, "the processes wait for each other")
            all[next].go()
            if all[next].state == .waiting { waiting.insert(next) } else { waiting = [] }
        }
    }

    /// Returns the store in the directory, or nil if there is none; fails if the store is damaged.
    private func look() throws -> Store? {
        do throws(LogError) {
            let log = try EventLog(opening: store, options: .init(mapSizeBytes: 1 << 20))
            defer { log.close() }
            let events = try log.events(after: .start, limit: 100)
            #expect(try log.verify().problems == [])
            return Store(
                id: log.storeID.description, events: Set(events.map(\.id.description)))
        } catch {
            guard error.code == .noStore else { throw error }
            return nil
        }
    }

    /// After any interruption, the next commands leave no files.
    private func checkCleanliness(_ plan: StoreRaceTests.Plan) throws {
        let place = StoreDirectory(store)
        func names() -> [String] { (try? place.names()) ?? [] }
        if try place.exists {
            // `look` has opened the store.
            #expect(!names().contains { $0.hasSuffix(DraftFile.suffix) }, "\(plan)")
        } else if plan.calls % 2 == 0 {
            try EventLog.create(store).close()
        }
        do throws(LogError) {
            try EventLog.erase(store)
            #expect(!FileManager.default.fileExists(atPath: store), "\(plan)")
        } catch {
            #expect(error.code == .noStore && names() == [], "\(plan): \(error)")
        }
    }
}
