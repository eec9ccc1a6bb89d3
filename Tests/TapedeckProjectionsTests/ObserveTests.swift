import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// An observer's copy of a table: a snapshot and the later differences, without further reads.
private struct ReplayedTable {
    var rows: [[UInt8]: [UInt8]] = [:]

    /// Applies a change and returns what is wrong with it, if anything.
    mutating func apply(_ change: RowChange) -> String? {
        switch change {
        case .inserted(let row):
            let before = rows.updateValue(row.value, forKey: row.key)
            return before == nil ? nil : "inserted an existing row"
        case .removed(let key):
            return rows.removeValue(forKey: key) == nil ? "removed a missing row" : nil
        case .updated(let row):
            let before = rows.updateValue(row.value, forKey: row.key)
            return before == nil || before == row.value ? "updated nothing" : nil
        case .moved(let from, let to):
            guard rows.removeValue(forKey: from) != nil else { return "moved a missing row" }
            return rows.updateValue(to.value, forKey: to.key) == nil ? nil : "moved onto a row"
        }
    }
}

/// Observers get the changes in each commit; together, the changes yield exactly the table.
@Suite(.offTasks) struct ObserveTests {
    private func table(
        _ views: Views, _ projection: some Projection, _ number: Int
    ) throws -> [[UInt8]: [UInt8]] {
        let rows = try views.rows(
            of: projection, table: number, lower: nil, upper: nil, after: nil, limit: .max)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.value) })
    }

    @Test func diffsAfterASnapshotYieldTheTableAtEachCommit() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try HistoryGenerator(events: 400).generate(&random)
        let store = try TestStore()
        try store.touch()
        let file = try store.file()
        let watched: [(any Projection, Int)] = [
            (BookHistory(), 0), (CardCatalogue(), 0), (CardCatalogue(), 1), (CardCatalogue(), 2),
            (OpenLoans(), 0), (ReaderNotes(), 0), (PoisonedNotes(), 0),
        ]
        var tables = watched.map { _ in ReplayedTable() }
        var kinds: Set<String> = []
        var seen = try file.environment.read { try DiffRing(file).last($0) }
        var rest = history.arrival(&random)[...]
        var receipts = history.receipts[...]
        while !rest.isEmpty || !receipts.isEmpty {
            let batch = rest.prefix(1 + random.number(below: 25))
            rest = rest.dropFirst(batch.count)
            try store.log.record(Array(batch))
            if rest.isEmpty {
                try store.log.recordReceipts(Array(receipts.prefix(20)))
                receipts = receipts.dropFirst(20)
            }
            try store.touch()
            let ring = DiffRing(file)
            let batches = try file.environment.read { try ring.batches(after: seen, $0) }
            for (number, diffs) in try #require(batches) {
                #expect(number == seen + 1)
                seen = number
                #expect(!diffs.isReset)
                for (place, (projection, table)) in watched.enumerated() {
                    let name = ProjectionDriver.fingerprint(of: projection).high
                    for entry in diffs.entries
                    where entry.projection == name && Int(entry.table) == table {
                        let wrong = tables[place].apply(entry.change)
                        #expect(wrong == nil, "\(projection.name) \(table), \(seed)")
                        kinds.insert("\(entry.change)".prefix { $0 != "(" }.description)
                    }
                }
            }
            try store.runner.read { views in
                for (place, (projection, number)) in watched.enumerated() {
                    let rows = try self.table(views, projection, number)
                    #expect(tables[place].rows == rows, "\(projection.name) \(number), \(seed)")
                }
            }
        }
        #expect(kinds == ["inserted", "removed", "updated", "moved"])
    }

    @Test func refusedEventReportsNoChangeToUnchangedRows() throws {
        let store = try TestStore([PoisonedNotes()])
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "note"))
        try store.touch()
        let file = try store.file()
        let seen = try file.environment.read { try DiffRing(file).last($0) }
        try store.append(NoteAdded(isbn: "1", reader: "r", text: PoisonedNotes.word))
        try store.checkVerifies()
        #expect(try store.runner.frozenKeys().count == 1)
        let told = try file.environment.read { try DiffRing(file).batches(after: seen, $0) }
        #expect(try #require(told).flatMap(\.batch.entries).map(\.change) == [])
    }

    @Test func observerGetsAllChangesAfterItsFirstRead() async throws {
        let store = try TestStore()
        try store.append(BookReceived(isbn: "0", title: "Emma", shelf: "a"))
        let (runner, log) = (store.runner, store.log)
        var changes = runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        var table = ReplayedTable(
            rows: try blocking { try runner.read { try self.table($0, CardCatalogue(), 0) } })
        #expect(table.rows.count == 1)
        for number in 1...20 {
            try await log.append([
                try ProposedEvent(
                    BookReceived(
                        isbn: "\(number % 4)", title: "Title \(number)", shelf: "a",
                        version: UInt64(number)))
            ])
            guard case .changes(let diffs)? = await changes.next() else {
                Issue.record("no change arrived")
                return
            }
            for diff in diffs { #expect(table.apply(diff) == nil) }
            let rows = try blocking {
                try runner.read { try self.table($0, CardCatalogue(), 0) }
            }
            #expect(table.rows == rows)
        }
    }

    @Test func observerIsResetAfterARebuild() async throws {
        let store = try TestStore()
        try store.append(BookReceived(isbn: "0", title: "Emma", shelf: "a"))
        let runner = store.runner
        var changes = runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        _ = try blocking { try runner.rebuild() }
        #expect(await changes.next() == .reset)
        try await store.log.append([
            try ProposedEvent(BookReceived(isbn: "0", title: "Sanditon", shelf: "a", version: 2))
        ])
        guard case .changes(let diffs)? = await changes.next() else {
            Issue.record("no change arrived")
            return
        }
        #expect(diffs.count == 1)
    }

    @Test func observerThatLaggedTooFarIsReset() throws {
        let store = try TestStore([CardCatalogue()])
        try store.touch()
        let file = try store.file()
        let ring = DiffRing(file)
        var batch = DiffBatch()
        batch.add(
            .inserted(Row(key: [1], value: [2])), projection: Digest16(high: 1, low: 1), table: 0)
        let count = DiffBatch.batchesMax
        // In a new file, batch 1 is a reset.
        for _ in 0..<count + 9 { try file.environment.write { try ring.append(batch, $0) } }
        func numbers(after place: UInt64) throws -> [UInt64]? {
            try file.environment.read { try ring.batches(after: place, $0)?.map(\.number) }
        }
        #expect(try numbers(after: count + 10) == [])
        #expect(try numbers(after: count + 9) == [count + 10])
        #expect(try numbers(after: 10) == Array(11...count + 10))
        #expect(try numbers(after: 9) == nil)
        #expect(try numbers(after: 0) == nil)
        // This position is in a file that has been replaced.
        #expect(try numbers(after: count + 11) == nil)
        #expect(try file.environment.read { try $0.count(file.diffs) } == Int(count))
    }

    @Test func diffsOfALargeCommitStayWithinTheLimit() throws {
        let store = try TestStore([CardCatalogue()])
        try store.touch()
        let events = try (0..<DiffBatch.entriesMax + 2).map {
            try ProposedEvent(BookReceived(isbn: "\($0)", title: "T", shelf: "a"))
        }
        try store.log.appendBlocking(events)
        try store.touch()
        let file = try store.file()
        let batches = try file.environment.read { try DiffRing(file).batches(after: 0, $0) }
        // There are two commits: one with 2,048 events, and one with the remaining events. Neither
        // commit contains more rows than the limit.
        #expect(try #require(batches).allSatisfy { $0.batch.entries.count <= DiffBatch.entriesMax })
        try store.checkVerifies()
    }

    @Test func batchesAreReadBackUnchanged() throws {
        var batch = DiffBatch()
        let projection = Digest16(high: .max, low: 0)
        batch.add(.inserted(Row(key: [], value: [])), projection: projection, table: 0)
        batch.add(.removed(key: [0, 1]), projection: projection, table: 255)
        batch.add(.updated(Row(key: [1], value: [2, 3])), projection: projection, table: 1)
        batch.add(
            .moved(from: [9], to: Row(key: [8], value: [7])), projection: projection, table: 2)
        let bytes = batch.encoded()
        let read = try bytes.withUnsafeBytes { try #require(DiffBatch(decoding: $0)) }
        #expect(read.entries.map(\.change) == batch.entries.map(\.change))
        #expect(read.entries.map(\.table) == [0, 255, 1, 2])
        for count in 1..<bytes.count {
            let cut = Array(bytes[..<count])
            let part = cut.withUnsafeBytes { DiffBatch(decoding: $0) }
            #expect(part.map { $0.entries.count < 4 } ?? true)
        }
    }

    /// A consumer that does not read must not make the process keep every change in memory.
    @Test func observerThatDoesNotReadIsReset() async throws {
        let store = try TestStore([CardCatalogue()])
        let (runner, log) = (store.runner, store.log)
        var changes = runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        let count = ProjectionRunner.bufferedChangesMax + 50
        var version: UInt64 = 0
        var isReset = false
        // The buffer overflows unless the observer gets all changes only while they are being read;
        // then they are read, and there is another attempt.
        while !isReset {
            for _ in 0..<count {
                version += 1
                try await log.append([
                    try ProposedEvent(
                        BookReceived(isbn: "1", title: "\(version)", shelf: "a", version: version))
                ])
                try blocking { try runner.read { _ in } }
            }
            for _ in 0..<count where !isReset {
                isReset = try #require(await changes.next()) == .reset
            }
        }
    }

    @Test func observerEndsWhenTheStoreIsClosed() async throws {
        let store = try TestStore()
        let (runner, log) = (store.runner, store.log)
        var changes = runner.observe(CardCatalogue()).makeAsyncIterator()
        #expect(await changes.next() == .reset)
        try blocking {
            runner.close()
            log.close()
        }
        #expect(await changes.next() == nil)
    }

    @Test func observerOfAnUnknownProjectionEnds() async throws {
        let store = try TestStore([CardCatalogue()])
        var changes = store.runner.observe(BookHistory()).makeAsyncIterator()
        #expect(await changes.next() == nil)
    }
}

/// Makes a blocking call in an asynchronous context.
func blocking<R>(_ body: () throws -> R) throws -> R { try body() }
