import Foundation
import TapedeckLMDB
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Verification finds and locates damage that was planted in a store's tables and that LMDB itself
/// cannot detect.
@Suite(.offTasks) struct VerifyTests {
    struct Plant: CustomTestStringConvertible {
        var testDescription: String
        var kind: VerifyReport.Problem.Kind
        var position: UInt64?
        var damage: @Sendable (borrowing WriteTransaction, LogTables) throws -> Void
    }

    static let plants: [Plant] = [
        Plant(testDescription: "flipped payload", kind: .record, position: 10) {
            try change($0, $1, at: 10) { $0[$0.count - 1] ^= 1 }
        },
        Plant(testDescription: "flipped checksum", kind: .record, position: 10) {
            try change($0, $1, at: 10) { $0[0] ^= 1 }
        },
        Plant(testDescription: "record cut off", kind: .record, position: 10) {
            try change($0, $1, at: 10) { $0.removeLast(30) }
        },
        Plant(testDescription: "no record at all", kind: .record, position: 10) {
            try change($0, $1, at: 10) { $0 = [1, 2, 3] }
        },
        Plant(testDescription: "missing event", kind: .position, position: 10) {
            try $0.delete($1.events, integer: 10)
        },
        Plant(testDescription: "forged payload, valid checksum", kind: .chain) {
            try change($0, $1, at: 10) {
                $0[$0.count - 1] ^= 1
                seal(&$0)
            }
        },
        Plant(testDescription: "swapped records", kind: .record, position: 10) {
            let other = Array(try $0.get($1.events, integer: 11) ?? .init(start: nil, count: 0))
            try change($0, $1, at: 10) { $0 = other }
        },
        Plant(testDescription: "forged sequence", kind: .sequence, position: 10) {
            try change($0, $1, at: 10) {
                $0[24] = 9
                seal(&$0)
            }
        },
        Plant(testDescription: "forged origin", kind: .record, position: 10) {
            try change($0, $1, at: 10) {
                $0[32] = 7
                seal(&$0)
            }
        },
        Plant(testDescription: "last sequence number of an origin", kind: .origin) {
            try changeMeta($0, $1, MetaKey.origin(0)) { $0[16] -= 1 }
        },
        Plant(testDescription: "segment of an origin", kind: .origin, position: 120) {
            try changeMeta($0, $1, MetaKey.origin(0)) { $0[40] ^= 1 }
        },
        Plant(testDescription: "index entry gone", kind: .index) {
            var key: [UInt8] = []
            do {
                let cursor = try $0.cursor($1.index)
                key = Array(try cursor.first()?.key ?? .init(start: nil, count: 0))
            }
            try $0.delete($1.index, key)
        },
        Plant(testDescription: "index entry flipped", kind: .index) {
            try changeIndex($0, $1) { $0[0] ^= 1 }
        },
        Plant(testDescription: "index entry forged", kind: .index) {
            var key: [UInt8] = []
            do {
                let cursor = try $0.cursor($1.index)
                key = Array(try cursor.first()?.key ?? .init(start: nil, count: 0))
            }
            var value: [UInt8] = [1, 1]
            SealedValue.seal(&value, key: key)
            try $0.put($1.index, key, value)
        },
        Plant(testDescription: "index covers too much", kind: .meta) {
            try changeMeta($0, $1, MetaKey.runs) { $0[9] ^= 1 }
        },
        Plant(testDescription: "receipt flipped", kind: .receipt) {
            let key = ReceiptRow.key(0, 5, LineageID(high: 1, low: 1))
            var value = Array(try $0.get($1.receipts, key) ?? .init(start: nil, count: 0))
            value[3] ^= 1
            try $0.put($1.receipts, key, value)
        },
        Plant(testDescription: "receipt gone", kind: .override, position: 5) {
            try $0.delete($1.receipts, ReceiptRow.key(0, 5, LineageID(high: 1, low: 1)))
        },
        Plant(testDescription: "override gone", kind: .override, position: 5) {
            try $0.delete($1.overrides, integer: 5)
        },
        Plant(testDescription: "change gone", kind: .override) {
            try $0.delete($1.changes, integer: 1)
        },
    ]

    @Test(arguments: plants) func plantedDamageIsFoundAndLocated(_ plant: Plant) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for round in 0..<6 { try log.appendBlocking((0..<20).map { .sample($0 + round) }) }
        try log.mergeIndex(keeping: 30, eventsPerRun: 40)
        try log.recordReceipts([.sample(of: log.origin, 5), .sample(of: log.origin, 6)])
        #expect(try log.verify().problems == [])
        log.close()
        try RawStore.edit(directory.file("store"), plant.damage)
        let report = try EventLog.verify(directory.file("store"))
        #expect(!report.isIntact)
        #expect(report.problemCount >= report.problems.count)
        let found = report.problems.filter {
            $0.kind == plant.kind && (plant.position == nil || $0.position == plant.position)
        }
        #expect(!found.isEmpty, "\(report.problems)")
    }

    /// Between two slices, index runs may be merged, and the map may grow, although growing waits
    /// for every reader.
    @Test func verificationHoldsNoTransactionBetweenSlices() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("store", .init(mapSizeBytes: 1 << 17))
        func grow(_ number: Int) throws {
            try log.appendBlocking((0..<10).map { .sample($0 + number, payload: 2_000) })
            try log.mergeIndex(eventsPerRun: 10)
        }
        for number in 0..<6 { try grow(number) }
        var slices = 0
        var verification = Verification(
            log,
            { _ in
                slices += 1
                guard slices < 6 else { return }
                do { try grow(slices) } catch { Issue.record(error) }
            }, entriesPerTransaction: 5)
        try verification.run()
        #expect(slices > 4)
        #expect(verification.report.problems == [])
        #expect(verification.report.events > 60)
        #expect(verification.report.indexed == verification.report.events)
        #expect(try log.verify().problems == [])
        log.close()
    }

    @Test func everyRowOfTheLogsOwnMetadataIsVerified() throws {
        let directory = try TemporaryDirectory("verify-rows")
        let log = try directory.store()
        try log.appendBlocking((0..<300).map { .sample($0) })
        try log.mergeIndex(keeping: 100)
        _ = try log.newViewsNumber()
        let projection = Digest16(high: 1, low: 2)
        try log.setViews(ViewsEntry(number: 1, boot: ""), for: [projection])
        log.close()
        let place = directory.file("store")
        let keys = try RawStore.edit(place) { transaction, tables in
            var keys: [[UInt8]] = []
            let cursor = try transaction.cursor(tables.meta)
            var entry = try cursor.first()
            while let found = entry {
                keys.append(Array(found.key))
                entry = try cursor.next()
            }
            return keys
        }
        #expect(Set(keys.compactMap(\.first)).isSuperset(of: "cfinort".utf8))
        func flip(_ key: [UInt8]) throws {
            try RawStore.edit(place) { transaction, tables in
                var value = Array(try #require(try transaction.get(tables.meta, key)))
                value[value.count / 2] ^= 1
                try transaction.put(tables.meta, key, value)
            }
        }
        for key in keys {
            try flip(key)
            let report = try EventLog.verify(place)
            #expect(report.problems.contains { $0.kind == .meta || $0.kind == .index }, "\(key)")
            try flip(key)
        }
        #expect(try EventLog.verify(place).problems == [])

        // Damaged rows that concern only projections are ignored and written again.
        for key in keys where [UInt8(ascii: "c"), UInt8(ascii: "n")].contains(key.first) {
            try flip(key)
        }
        let again = try EventLog(opening: place)
        #expect(try again.viewsEntry(projection) == nil)
        let number = try again.newViewsNumber()
        try again.setViews(ViewsEntry(number: number, boot: ""), for: [Digest16(high: 3, low: 4)])
        #expect(try again.verify().problems == [])
        again.close()
    }

    @Test func verifyCountsEverythingInAnIntactStore() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let other = try directory.store("other")
        try log.appendBlocking((0..<500).map { .sample($0) })
        try other.appendBlocking((0..<50).map { .sample($0) })
        try other.export(to: directory.file("other.tdx"))
        try log.importEvents(from: directory.file("other.tdx"))
        try log.mergeIndex(keeping: 100, eventsPerRun: 90)
        try log.recordReceipts([.sample(of: log.origin, 5), .sample(of: log.origin, 6)])
        var reports: [LogProgress] = []
        let report = try log.verify { reports.append($0) }
        #expect(report.isIntact)
        #expect(report.events == 550)
        #expect(report.lookups == 550)
        #expect(report.origins == 2)
        #expect(report.indexed == 450)
        #expect(report.entries == 900)
        #expect(report.receipts == 2)
        #expect(report.overrides == 2)
        #expect(report.pages > 10)
        #expect(reports.last == LogProgress(phase: .checking, done: 550, total: 550))
        let text = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(VerifyReport.self, from: text) == report)
    }

    @Test func verifyPassesWhileTheStoreIsBeingWritten() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<200).map { .sample($0) })
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            for round in 0..<60 {
                do {
                    try log.appendBlocking((0..<50).map { .sample($0) })
                    if round % 5 == 0 { try log.mergeIndex(keeping: 10, eventsPerRun: 64) }
                    try log.recordReceipts([.sample(of: log.origin, UInt64(round) + 1)])
                } catch {
                    Issue.record(error)
                }
            }
        }
        for _ in 0..<10 {
            let problems = try log.verify().problems
            #expect(problems == [])
        }
        group.wait()
        let problems = try log.verify().problems
        #expect(problems == [])
    }

    /// Changes a log without its memory, as another process does.
    private func asAnotherProcess(_ log: EventLog, _ body: () throws -> Void) {
        let memory = log.state.withLock { $0 }
        do { try body() } catch { Issue.record(error) }
        log.state.withLock { $0 = memory }
    }

    /// Another process records the first events of a new origin while the store is verified, before
    /// or after the check has read the log's metadata.
    @Test(arguments: [LogProgress.Phase.pages, .checking])
    func newOriginsOfOtherProcessesAreNotDamage(during phase: LogProgress.Phase) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<20).map { .sample($0) })
        let source = try directory.store("source")
        try source.appendBlocking([
            ProposedEvent(type: "NewType", tags: [Tag(unchecked: "note/1")], payload: [1]),
            .sample(2),
        ])
        try source.export(to: directory.file("source.tdx"))
        var isRecorded = false
        let report = try log.verify { progress in
            guard progress.phase == phase, progress.done == progress.total, !isRecorded else {
                return
            }
            isRecorded = true
            asAnotherProcess(log) {
                try log.importEvents(from: directory.file("source.tdx"))
                try log.recordReceipts([.sample(of: source.origin, 1)])
            }
        }
        #expect(isRecorded)
        #expect(report.problems == [])
        #expect(try log.verify().events == 22)
    }

    /// Another process voids events while the store is verified.
    @Test func healingOfOtherProcessesIsNotDamage() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<20).map { .sample($0) })
        try log.recordReceipts((1...20).map { .sample(of: log.origin, $0) })
        var isHealed = false
        let report = try log.verify { progress in
            guard progress.phase == .checking, progress.done == 0, !isHealed else { return }
            isHealed = true
            asAnotherProcess(log) {
                try log.heal(from: EventID(origin: log.origin, sequence: 8))
            }
        }
        #expect(isHealed)
        #expect(report.problems == [])
    }

    @Test func allProblemsAreCountedAndTheFirstOnesAreListed() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<400).map { .sample($0) })
        log.close()
        try RawStore.edit(directory.file("store")) { transaction, tables in
            for position in UInt64(1)...300 {
                try change(transaction, tables, at: position) { $0[8] ^= 0xFF }
            }
        }
        let report = try EventLog.verify(directory.file("store"))
        #expect(
            report.problems.count(where: { $0.kind == .record }) == VerifyReport.problemsOfAKindMax)
        #expect(report.problemCount > 300)
    }

    /// Anyone can compute a checksum, so a record with a valid checksum can still contain a forged
    /// sequence number.
    @Test(arguments: [0, 9, 11, 1_000_000_000, 1 << 63, .max - 1, .max] as [UInt64])
    func forgedSequenceNumbersAreDamage(_ sequence: UInt64) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<20).map { .sample($0) })
        log.close()
        try RawStore.edit(directory.file("store")) { transaction, tables in
            try change(transaction, tables, at: 10) { record in
                withUnsafeBytes(of: sequence.littleEndian) {
                    record.replaceSubrange(24..<32, with: $0)
                }
                seal(&record)
            }
        }
        let again = try EventLog(opening: directory.file("store"))
        #expect(try again.verify().problems.contains { $0.position == 10 })
        let copy = directory.file("copy")
        let export = #expect(throws: LogError.self) { try again.export(to: copy) }
        #expect(export?.code == .damaged && export?.position?.rawValue == 10)
        let backup = #expect(throws: LogError.self) { try again.backup(to: copy) }
        #expect(backup?.code == .damaged)
        #expect(!FileManager.default.fileExists(atPath: copy))
        // The other calls return a result or an error.
        _ = try? again.allEvents()
        _ = try? again.mergeIndex()
        _ = try? again.appendBlocking([.sample(1)])
    }

    @Test func readersReportThePositionOfADamagedEvent() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking((0..<50).map { .sample($0) })
        log.close()
        try RawStore.edit(directory.file("store")) { transaction, tables in
            try change(transaction, tables, at: 20) { $0[$0.count - 1] ^= 1 }
        }
        let again = try EventLog(opening: directory.file("store"))
        let calls: [() throws -> Void] = [
            { _ = try again.events(after: .start) },
            { _ = try again.event(at: LogPosition(rawValue: 20)) },
            { _ = try again.event(EventID(origin: again.origin, sequence: 20)) },
            { _ = try again.export(to: directory.file("x.tdx")) },
            { try again.mergeIndex() },
        ]
        for call in calls {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .damaged)
            #expect(error?.position?.rawValue == 20)
        }
        #expect(!FileManager.default.fileExists(atPath: directory.file("x.tdx")))
        // Intact events stay readable, and the log accepts new events.
        #expect(try again.events(after: LogPosition(rawValue: 20)).count == 30)
        try again.appendBlocking([.sample(1)])
    }
}

private func change(
    _ transaction: borrowing WriteTransaction, _ tables: LogTables, at position: UInt64,
    _ body: (inout [UInt8]) -> Void
) throws {
    var record = Array(
        try transaction.get(tables.events, integer: position) ?? .init(start: nil, count: 0))
    body(&record)
    try transaction.put(tables.events, integer: position, record)
}

private func changeMeta(
    _ transaction: borrowing WriteTransaction, _ tables: LogTables, _ key: [UInt8],
    _ body: (inout [UInt8]) -> Void
) throws {
    var value = Array(try transaction.meta(tables, key) ?? .init(start: nil, count: 0))
    body(&value)
    try transaction.setMeta(tables, key, value)
}

private func changeIndex(
    _ transaction: borrowing WriteTransaction, _ tables: LogTables,
    _ body: (inout [UInt8]) -> Void
) throws {
    var (key, value): ([UInt8], [UInt8]) = ([], [])
    do {
        let cursor = try transaction.cursor(tables.index)
        if let found = try cursor.first() { (key, value) = (Array(found.key), Array(found.value)) }
    }
    body(&value)
    try transaction.put(tables.index, key, value)
}

/// Gives a changed record a matching checksum.
private func seal(_ record: inout [UInt8]) {
    let checksum = record.withUnsafeBytes { crc32c(UnsafeRawBufferPointer(rebasing: $0[4...])) }
    withUnsafeBytes(of: checksum.littleEndian) { bytes in
        for index in 0..<4 { record[index] = bytes[index] }
    }
}
