import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import TestSupport
import Testing

/// Folding or explaining a single key gives the same result as replaying the entire log, for every
/// projection.
@Suite(.offTasks) struct KeyExplanationTests {
    /// Returns a check for one of the order suites, with the projections of the suite and a random
    /// history.
    private static func check(
        _ number: Int, events: Int, _ random: inout SeededGenerator
    ) throws -> (KeyCheck, ScriptLog) {
        let (projections, history) =
            switch number {
            case 0:
                (
                    OrderIndependenceTests.projections,
                    try OrderIndependenceTests.history(events, seed: random.next())
                )
            case 1:
                (
                    PlaybackOrderTests.projections,
                    try PlaybackOrderTests.history(events, seed: random.next())
                )
            default:
                (
                    GroupOrderTests.projections,
                    try GroupOrderTests.history(events, seed: random.next())
                )
            }
        let script = try ScriptLog(history, &random)
        return (
            KeyCheck(
                log: script.log, projections: projections,
                note: "history \(number), TAPEDECK_SEED=\(runSeed)"), script
        )
    }

    @Test func singleKeyFoldsMatchAReplay() throws {
        var random = SeededGenerator(seed: runSeed)
        var met: Set<String> = []
        for number in 0..<3 {
            let (check, script) = try Self.check(number, events: 400, &random)
            let points = try script.points(&random)
            met.formUnion(try check.checkKeysFoldedAlone(asOf: points))
            try check.checkViewsReadAlike(asOf: points[1], rounds: 8, &random)
        }
        #expect(met == Set(VideoProjections.standard.all.map(\.name)))
    }

    @Test(arguments: 0..<3)
    func explanationsNameTheDecisiveEvents(_ number: Int) throws {
        var random = SeededGenerator(seed: runSeed &+ UInt64(number))
        let (check, script) = try Self.check(number, events: 120, &random)
        let met = try check.checkExplanations(keysPerProjection: 1, eventsPerRole: 2, &random)
        #expect(met[.deciding, default: 0] > 0 && met[.lost, default: 0] > 0)
        withExtendedLifetime(script) {}
    }
}
