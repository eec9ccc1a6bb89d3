import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import Testing

@testable import TapedeckProjections

/// The ways that a rebuild takes when something does not fit in memory lead to the same bytes.
@Suite struct RebuildBudgetTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var budgets: Rebuild.Budgets
        var workers = 2
        /// How often the log has to be scanned.
        var passes: ClosedRange<UInt64> = 1...1
        var spills = false
    }

    static let cases: [Case] = [
        Case(
            testDescription: "several passes", budgets: .init(entriesMax: 2_000), passes: 2...10),
        Case(
            testDescription: "a pass for each partition", budgets: .init(entriesMax: 1),
            workers: 1, passes: 256...256),
        Case(
            testDescription: "rows in a file", budgets: .init(rowBytesMax: 1), workers: 3,
            spills: true),
        Case(
            testDescription: "some rows in a file", budgets: .init(rowBytesMax: 4_000),
            spills: true),
        Case(testDescription: "tiny commits", budgets: .init(bytesPerCommitMax: 1)),
        Case(
            testDescription: "all at once",
            budgets: .init(entriesMax: 1_500, rowBytesMax: 100, bytesPerCommitMax: 100),
            workers: 4, passes: 2...20, spills: true),
    ]

    private static let names = (0..<400).map { "volume \($0)" }

    /// A history, and many keys with a few rows each, so that there is something to spill.
    private func fill(_ store: TestStore, _ random: inout SeededGenerator) throws {
        let history = try HistoryGenerator(events: 2_000, books: 40, readers: 20)
            .generate(&random)
        try store.log.record(history.arrival(&random))
        try store.log.recordReceipts(history.receipts)
        for start in stride(from: 0, to: RebuildBudgetTests.names.count, by: 100) {
            try store.log.appendBlocking(
                try RebuildBudgetTests.names[start..<start + 100].flatMap { name in
                    try [
                        ProposedEvent(BookReceived(isbn: name, title: name, shelf: "a")),
                        ProposedEvent(LoanStarted(isbn: name, reader: "reader-1")),
                        ProposedEvent(NoteAdded(isbn: name, reader: "reader-2", text: name)),
                    ]
                })
        }
    }

    @Test(arguments: cases) func aLongerWayLeadsToTheSameBytes(_ given: Case) throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try TestStore(isLive: false)
        try fill(store, &random)
        let usual = try store.runner.rebuild()
        let (file, path) = try emptyFile(store)
        let scanned = Atomic<UInt64>(0)
        let hasSpilled = Atomic(false)
        let rebuild = Rebuild(
            store.log, store.runner.drivers, workers: given.workers, budgets: given.budgets,
            progress: { [directory = store.directory] in
                if $0.phase == "scan" { scanned.store($0.total, ordering: .relaxed) }
                let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
                if names?.contains(where: { $0.contains(".mdb.run") }) == true {
                    hasSpilled.store(true, ordering: .relaxed)
                }
            })
        let report = try rebuild.run(into: file)
        #expect(report.projections == usual.projections, "\(seed)")
        #expect(Set(report.frozen) == Set(usual.frozen), "\(seed)")
        #expect(
            given.passes.contains(scanned.load(ordering: .relaxed) / store.log.head.rawValue),
            "\(seed)")
        #expect(hasSpilled.load(ordering: .relaxed) == given.spills, "\(seed)")
        // What stands in the file, and not only what was counted on the way there.
        for (driver, projection) in zip(store.runner.drivers, usual.projections) {
            let tables = try #require(file.tables[driver.fingerprint])
            let held = try file.environment.read { try tables.digest(driver.fingerprint, $0) }
            #expect(held.digest == projection.digest, "\(seed), \(driver.name)")
        }
        file.close()
        #expect(!FileManager.default.fileExists(atPath: path + ".run0"))
    }

    private func emptyFile(_ store: TestStore) throws -> (ViewsFile, String) {
        let path = store.directory + "/scratch-\(UUID().uuidString).mdb"
        return (try ProjectionRunner.newFile(path, number: 0, store.runner.drivers), path)
    }
}
