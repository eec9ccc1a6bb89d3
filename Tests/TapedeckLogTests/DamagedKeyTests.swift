import Foundation
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A key that cannot be read must not silently end an iteration, which would hide the rows after
/// it.
@Suite(.offTasks) struct DamagedKeyTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.file("store") }

    init() throws { directory = try TemporaryDirectory() }

    /// Creates a store with 60 events, each with a receipt, and an index.
    private func filled() throws -> EventLog {
        let log = try directory.store()
        for round in 0..<6 {
            try log.appendBlocking((0..<10).map { .sample($0 + round) })
            try log.mergeIndex(keeping: 0, eventsPerRun: 40)
        }
        try log.recordReceipts((1...60).map { .sample(of: log.origin, $0) })
        return log
    }

    private enum Part: CaseIterable { case receipts, index }

    /// Cuts the last four bytes off one key of a table: the first key, the last key or one in
    /// between.
    private func cutKey(of part: Part, at place: Int = 2) throws {
        try RawStore.edit(path) { transaction, tables in
            let table = part == .receipts ? tables.receipts : tables.index
            var rows: [(key: [UInt8], value: [UInt8])] = []
            do {
                let cursor = try transaction.cursor(table)
                var entry = try cursor.first()
                while let found = entry {
                    rows.append((Array(found.key), Array(found.value)))
                    entry = try cursor.next()
                }
            }
            // The middle row begins the fourth of the six index runs.
            let (key, value) = rows[[0, rows.count / 2, rows.count / 2 + 3, rows.count - 1][place]]
            try transaction.delete(table, key)
            try transaction.put(table, Array(key.dropLast(4)), value)
        }
    }

    private func expectDamaged(_ what: String, _ body: () throws -> Void) {
        let error = #expect(throws: LogError.self, "\(what)") { try body() }
        #expect(error?.code == .damaged, "\(what): \(String(describing: error))")
    }

    @Test(arguments: 0..<4) func exportFailsOnADamagedReceiptKey(_ place: Int) throws {
        try filled().close()
        try cutKey(of: .receipts, at: place)
        let log = try EventLog(opening: path)
        defer { log.close() }
        expectDamaged("export") { _ = try log.export(to: directory.file("all.tdx")) }
        #expect(!FileManager.default.fileExists(atPath: directory.file("all.tdx")))
        #expect(try log.verify().problems.contains { $0.kind == .receipt })
        let id = EventID(origin: log.origin, sequence: 1)
        expectDamaged("lookup of a position without receipt") {
            _ = try log.isCovered(id, LineageID(high: 1, low: 1), by: 1_000_000)
        }
    }

    @Test(arguments: 0..<4) func mergeFailsOnADamagedKeyAndLosesNothing(_ place: Int) throws {
        try filled().close()
        try cutKey(of: .index, at: place)
        let log = try EventLog(opening: path)
        defer { log.close() }
        // Run enough rounds to merge all runs.
        expectDamaged("merge") {
            for round in 0..<12 {
                try log.appendBlocking((0..<40).map { .sample($0 + round) })
                try log.mergeIndex(keeping: 0, eventsPerRun: 40)
            }
        }
        #expect(try log.verify().problems.contains { $0.kind == .index })
        try log.rebuildIndex()
        #expect(try log.verify().problems == [])
    }
}
