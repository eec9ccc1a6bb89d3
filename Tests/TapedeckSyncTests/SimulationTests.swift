import Foundation
import TapedeckTesting
import Testing

/// The whole of sync in seeded schedules; see `Simulation`.
///
/// - `TAPEDECK_SEED=N` runs that one schedule and prints its trace.
/// - `TAPEDECK_SIM_SCHEDULES=N` runs so many; else as many as fit in `TAPEDECK_SIM_SECONDS` (10).
@Suite struct SimulationTests {
    /// A schedule that went wrong.
    private struct Failure: Sendable {
        var seed: UInt64
        var what: String
        var trace: [String]

        var text: String {
            "\(SeededGenerator.variable)=\(seed): \(what)\n\(trace.joined(separator: "\n"))"
        }
    }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// A schedule blocks for long, and the tasks' own threads are not for that.
    private static func onThread<R: Sendable>(
        _ body: @escaping @Sendable () -> R
    ) async -> R {
        await withCheckedContinuation { waiting in
            Thread { waiting.resume(returning: body()) }.start()
        }
    }

    private static func failure(seed: UInt64, planted: PlantedBug? = nil) -> Failure? {
        let simulation = Simulation(seed: seed, planted: planted)
        defer { simulation.end() }
        guard let what = simulation.runSchedule() else { return nil }
        return Failure(seed: seed, what: what, trace: simulation.trace)
    }

    @Test func everyScheduleEndsWellForAll() async {
        if let seed = SimulationTests.number(SeededGenerator.variable) {
            let failure = await SimulationTests.onThread { SimulationTests.failure(seed: seed) }
            if let failure { Issue.record("\(failure.text)") }
            return
        }
        let schedules = SimulationTests.number("TAPEDECK_SIM_SCHEDULES") ?? .max
        let seconds = SimulationTests.number("TAPEDECK_SIM_SECONDS") ?? 10
        let first = UInt64.random(in: 0..<1 << 40)
        let (count, failure) = await SimulationTests.onThread { () -> (UInt64, Failure?) in
            let end =
                schedules == .max ? Date(timeIntervalSinceNow: Double(seconds)) : .distantFuture
            var count: UInt64 = 0
            while count < schedules, Date() < end {
                if let failure = SimulationTests.failure(seed: first &+ count) {
                    return (count, failure)
                }
                count += 1
            }
            return (count, nil)
        }
        print("simulation: \(count) schedules from seed \(first) ended well")
        if let failure { Issue.record("\(failure.text)") }
    }

    /// Schedules that have failed once.
    @Test(
        arguments: [UInt64]([
            1, 2, 3, 788_926_433_912, 692_099_807_044, 973_223_891_253, 498_992_219_669,
            1_052_145_778_547, 7_987_865_549, 49_494_070_793, 338_989_355_719,
        ]))
    func formerFailuresStayAway(seed: UInt64) async {
        let failure = await SimulationTests.onThread { SimulationTests.failure(seed: seed) }
        if let failure { Issue.record("\(failure.text)") }
    }

    @Test(arguments: PlantedBug.allCases)
    func plantedBugIsCaught(_ bug: PlantedBug) async {
        let seedsMax: UInt64 = 400
        let isCaught = await SimulationTests.onThread {
            (0..<seedsMax).contains { SimulationTests.failure(seed: $0, planted: bug) != nil }
        }
        #expect(isCaught, "\(bug) was not noticed in \(seedsMax) schedules")
    }
}
