import Foundation
import TapedeckProjections
import TestSupport
import Testing

/// The same events and receipts give the same bytes, regardless of the order and route of arrival.
///
/// `TAPEDECK_ORDER_EVENTS` and `TAPEDECK_ORDER_ROUNDS` increase the number of events and rounds.
@Suite(.offTasks) struct OrderTests {
    static let events = Seed.setting("TAPEDECK_ORDER_EVENTS", default: 1_000)
    static let rounds = Seed.setting("TAPEDECK_ORDER_ROUNDS", default: 4)

    @Test func everyArrivalOrderGivesTheSameBytes() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try HistoryGenerator(events: OrderTests.events).generate(&random)
        let check = OrderCheck(
            projections: LibraryProjections.all, history: history, seed: seed)
        let differences = try check.differences(rounds: OrderTests.rounds)
        #expect(differences.isEmpty, "\(seed)")
    }

    /// A few keys with very many events each, so that in-key checkpoints are created and removed.
    @Test func everyArrivalOrderOfFewKeysGivesTheSameBytes() throws {
        let seed = Seed()
        var random = seed.generator(1)
        let history = try HistoryGenerator(
            events: OrderTests.events, originCount: 3, books: 1, readers: 1, shelves: 1, poison: 0
        ).generate(&random)
        let check = OrderCheck(
            projections: LibraryProjections.all, history: history, seed: seed)
        let differences = try check.differences(rounds: max(1, OrderTests.rounds / 2))
        #expect(differences.isEmpty, "\(seed)")
    }

    /// The suite is worthless if it lets one of these projections pass.
    @Test(arguments: [FoldByArrival() as any Projection, LastToArrive()])
    func foldThatDependsOnArrivalIsDetected(_ planted: any Projection) throws {
        let seed = Seed()
        var random = seed.generator(2)
        let history = try HistoryGenerator(events: 300).generate(&random)
        let check = OrderCheck(projections: [planted], history: history, seed: seed)
        let differences = try check.differences(rounds: 20)
        #expect(!differences.isEmpty, "\(planted.name) was not detected, \(seed)")
    }
}

/// The order tests cover every projection of the domain.
@Suite(.offTasks) struct RegistryTests {
    @Test func everyProjectionOfTheDomainIsRegistered() throws {
        let library = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Library")
        var declared: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: library.path) {
            let text = try String(
                contentsOf: library.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: /struct (\w+)[^{\n]*: Projection\b/) {
                declared.insert(String(match.output.1))
            }
        }
        let registered = Set(LibraryProjections.all.map { "\(type(of: $0))" })
        let planted: Set<String> = ["FoldByArrival", "LastToArrive"]
        #expect(declared == registered.union(planted))
    }
}
