import Foundation
import TapedeckTesting
import TestSupport
import Testing

/// Random schedules for the entire sync, each determined by a seed; see `Simulation`.
///
/// - `TAPEDECK_SEED=N` is the seed of the first schedule, by default 1.
/// - `TAPEDECK_SIM_SCHEDULES=N` is the number of schedules, by default 60. `TAPEDECK_SEED=N
///   TAPEDECK_SIM_SCHEDULES=1` repeats a failed schedule; a failure prints its trace.
@Suite struct SimulationTests {
    /// A failed schedule.
    private struct Failure: Sendable {
        var seed: UInt64
        var what: String
        var trace: [String]

        var text: String {
            """
            \(SeededGenerator.variable)=\(seed) TAPEDECK_SIM_SCHEDULES=1: \(what)
            \(trace.joined(separator: "\n"))
            """
        }
    }

    private static let schedules =
        ProcessInfo.processInfo.environment["TAPEDECK_SIM_SCHEDULES"].flatMap { UInt64($0) } ?? 60

    private static func failure(seed: UInt64, planted: PlantedBug? = nil) -> Failure? {
        let simulation = Simulation(seed: seed, planted: planted)
        defer { simulation.end() }
        guard let what = simulation.runSchedule() else { return nil }
        return Failure(seed: seed, what: what, trace: simulation.trace)
    }

    @Test func everyScheduleKeepsTheInvariants() async throws {
        let first = SeededGenerator.fromEnvironment()
        print("simulation: \(SimulationTests.schedules) schedules from \(first)")
        let failure = try await onThread {
            (0..<SimulationTests.schedules).lazy
                .compactMap { SimulationTests.failure(seed: first.seed &+ $0) }.first
        }
        if let failure { Issue.record("\(failure.text)") }
    }

    /// Schedules that failed in the past.
    @Test(
        arguments: [UInt64]([
            1, 2, 3, 788_926_433_912, 692_099_807_044, 973_223_891_253, 498_992_219_669,
            1_052_145_778_547, 7_987_865_549, 49_494_070_793, 338_989_355_719,
        ]))
    func formerFailuresDoNotReturn(seed: UInt64) async throws {
        let failure = try await onThread { SimulationTests.failure(seed: seed) }
        if let failure { Issue.record("\(failure.text)") }
    }

    @Test(arguments: PlantedBug.allCases)
    func plantedBugsAreCaught(_ bug: PlantedBug) async throws {
        let seedsMax: UInt64 = 400
        let seed = try await onThread {
            (0..<seedsMax).lazy.map { ($0 + bug.caughtBySeed) % seedsMax }
                .first { SimulationTests.failure(seed: $0, planted: bug) != nil }
        }
        #expect(seed != nil, "\(bug) was not detected in \(seedsMax) schedules")
        if let seed, seed != bug.caughtBySeed {
            print("\(bug) is caught by seed \(seed), no longer by \(bug.caughtBySeed)")
        }
    }
}
