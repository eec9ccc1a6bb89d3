import Foundation
import TapedeckModel
import TapedeckProjections
import Testing

/// The seed of this run: `TAPEDECK_SEED`, or a random seed if it is not set.
let runSeed: UInt64 = {
    let seed =
        ProcessInfo.processInfo.environment["TAPEDECK_SEED"].flatMap { UInt64($0) }
        ?? .random(in: 1...999_999)
    print("orders are shuffled by TAPEDECK_SEED=\(seed)")
    return seed
}()

/// Checks that a projection has the same bytes for every order of its events.
///
/// In some rounds, facts arrive twice, as if two origins had observed them.
func checkOrderDoesNotMatter(
    _ projection: any Projection, _ events: [RecordedEvent], rounds: Int = 12,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let canonical = events.sorted { $0.order < $1.order }
    let expected = try folded(projection, canonical).snapshot
    for round in 0..<rounds {
        var generator = SeededGenerator(seed: runSeed &+ UInt64(round))
        var order = events.shuffled(using: &generator)
        if round % 3 == 1 { order = canonical.reversed() }
        let facts = order.filter { $0.proposal.fact != nil }
        if round % 3 == 2, let twice = facts.randomElement(using: &generator) {
            order.append(twice)
        }
        let found = try folded(projection, order).snapshot
        #expect(
            found == expected,
            "\(projection.name) differs: TAPEDECK_SEED=\(runSeed), round \(round)",
            sourceLocation: sourceLocation)
        if found != expected { return }
    }
}
