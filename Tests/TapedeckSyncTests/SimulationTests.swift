import Foundation
import TapedeckTesting
import Testing

/// The whole of sync in seeded schedules; see `Simulation`.
///
/// - `TAPEDECK_SEED=N` runs that one schedule and prints its trace.
/// - `TAPEDECK_SIM_SCHEDULES=N` runs so many; else as many as fit in `TAPEDECK_SIM_SECONDS` (10).
@Suite struct SimulationTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    /// Runs one schedule; gives the trace where it fails.
    private func failure(seed: UInt64, planted: PlantedBug? = nil) -> (String, [String])? {
        let simulation = Simulation(seed: seed, planted: planted)
        guard let what = simulation.runSchedule() else { return nil }
        return (what, simulation.trace)
    }

    private func report(seed: UInt64, _ what: String, _ trace: [String]) {
        Issue.record(
            """
            TAPEDECK_SEED=\(seed): \(what)
            \(trace.joined(separator: "\n"))
            """)
    }

    @Test func everyScheduleEndsWellForAll() throws {
        if let seed = SimulationTests.number(SeededGenerator.variable) {
            if let (what, trace) = failure(seed: seed) { report(seed: seed, what, trace) }
            return
        }
        let schedules = SimulationTests.number("TAPEDECK_SIM_SCHEDULES") ?? .max
        let seconds = SimulationTests.number("TAPEDECK_SIM_SECONDS") ?? 10
        let end =
            schedules == .max ? Date(timeIntervalSinceNow: Double(seconds)) : .distantFuture
        let first = UInt64.random(in: 0..<1 << 40)
        var count: UInt64 = 0
        while count < schedules, Date() < end {
            let seed = first &+ count
            if let (what, trace) = failure(seed: seed) { return report(seed: seed, what, trace) }
            count += 1
        }
        print("simulation: \(count) schedules from seed \(first), none failed")
    }

    /// Schedules that have failed once.
    @Test(arguments: [UInt64]([1, 2, 3, 788_926_433_912]))
    func formerFailuresStayAway(seed: UInt64) {
        if let (what, trace) = failure(seed: seed) { report(seed: seed, what, trace) }
    }

    @Test(arguments: PlantedBug.allCases)
    func plantedBugIsCaught(_ bug: PlantedBug) {
        let seedsMax: UInt64 = 400
        for seed in 0..<seedsMax where failure(seed: seed, planted: bug) != nil { return }
        Issue.record("\(bug) was not noticed in \(seedsMax) schedules")
    }
}
