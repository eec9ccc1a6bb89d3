import Foundation
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A rebuild produces the same bytes, whatever its memory budgets are.
@Suite(.offTasks) struct RebuildBudgetTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var budgets: Rebuild.Budgets
        var workers = 2
        /// Whether the rebuild must spill entries to a file.
        var spillsEntries = false
        /// Whether the rebuild must spill rows to a file.
        var spillsRows = false
    }

    static let cases: [Case] = [
        Case(
            testDescription: "some entries in a file", budgets: .init(entriesMax: 2_000),
            spillsEntries: true),
        Case(
            testDescription: "every entry in a file", budgets: .init(entriesMax: 0), workers: 1,
            spillsEntries: true),
        Case(
            testDescription: "rows in a file", budgets: .init(rowBytesMax: 1), workers: 3,
            spillsRows: true),
        Case(
            testDescription: "some rows in a file", budgets: .init(rowBytesMax: 12_000),
            spillsRows: true),
        Case(testDescription: "tiny commits", budgets: .init(bytesPerCommitMax: 1)),
        Case(
            testDescription: "one partition at a time", budgets: .init(outputBytesMax: 0),
            workers: 3),
        Case(
            testDescription: "all at once",
            budgets: .init(
                entriesMax: 1_500, rowBytesMax: 300, outputBytesMax: 1, bytesPerCommitMax: 100),
            workers: 4, spillsEntries: true, spillsRows: true),
    ]

    private static let names = (0..<400).map { "volume \($0)" }

    /// Records a random history, and a few events for each of many keys, so that a rebuild has
    /// something to spill.
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

    @Test(arguments: cases) func smallBudgetsGiveTheSameBytes(_ given: Case) throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try TestStore(isLive: false)
        try fill(store, &random)
        let usual = try store.runner.rebuild()
        let file = try emptyFile(store)
        let rebuild = Rebuild(
            store.log, store.runner.drivers, workers: given.workers, budgets: given.budgets)
        let report = try rebuild.run(into: file)
        #expect(report.projections == usual.projections, "\(seed)")
        #expect(Set(report.frozen) == Set(usual.frozen), "\(seed)")
        #expect((report.spilled.entries > 0) == given.spillsEntries, "\(seed)")
        #expect((report.spilled.rows > 0) == given.spillsRows, "\(seed)")
        // Compare the contents of the file, not only the reported counts.
        for (driver, projection) in zip(store.runner.drivers, usual.projections) {
            let tables = try #require(file.tables[driver.fingerprint])
            let held = try file.environment.read { try tables.digest(driver, $0) }
            #expect(held.digest == projection.digest, "\(seed), \(driver.name)")
        }
        file.close()
        let left = try FileManager.default.contentsOfDirectory(atPath: store.directory)
        #expect(!left.contains { $0.contains(".run") || $0.contains(".entries") })
    }

    private func emptyFile(_ store: TestStore) throws -> ViewsFile {
        let path = store.directory + "/scratch-\(UUID().uuidString).mdb"
        return try ProjectionRunner.newFile(path, number: 0, store.runner.drivers)
    }
}
