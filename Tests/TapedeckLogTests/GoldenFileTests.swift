import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Files written by an earlier version (`schema/vectors`) stay readable, down to the last byte.
@Suite(.offTasks) struct GoldenFileTests {
    private static func path(_ name: String, _ file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/vectors/" + name).path
    }

    /// Everything that a store of any version must return for its events.
    private func text(_ log: EventLog) throws -> String {
        var lines: [String] = []
        for event in try log.allEvents() {
            let override = try log.read { try log.override(at: event.position.rawValue, $0) }
            let receipts = try log.receipts(of: event.id).map {
                "\($0.lineage) \($0.serverPosition) \($0.receivedAt) \($0.outcome)"
            }
            let parts: [Any?] = [
                event.id, event.stamp, event.type, event.schemaVersion, event.tags,
                event.fact?.entity.high, event.fact?.content.low, event.fact?.version,
                event.fact?.observedAt, event.causation, event.correlation, event.reissuedFrom,
                event.retention.rawValue, event.encoding.rawValue, event.keyID.hex,
                event.payload.hex,
                override?.effectiveStamp, override?.isRefused, receipts,
            ]
            lines.append(parts.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " "))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func golden(_ current: EventLog) throws -> String {
        if ProcessInfo.processInfo.environment["TAPEDECK_WRITE_VECTORS"] == "1" {
            try current.export(to: GoldenFileTests.path("export-v1.tdx"))
            try current.backup(to: GoldenFileTests.path("backup-v1.mdb"))
            try Data(text(current).utf8)
                .write(to: URL(fileURLWithPath: GoldenFileTests.path("events-v1.txt")))
        }
        return try String(contentsOfFile: GoldenFileTests.path("events-v1.txt"), encoding: .utf8)
    }

    /// The store from which the files were written.
    private func sample(_ directory: TemporaryDirectory) throws -> EventLog {
        let time = ManualTime()
        var options = EventLog.Options()
        options.now = { time.now }
        var random = SeededRandom(1)
        let log = try directory.store("sample", options)
        let other = try directory.store("other", options)
        for log in [log, other] {
            for _ in 0..<8 {
                time.move(17)
                try log.appendBlocking((0..<6).map { _ in .full(&random, after: []) })
            }
        }
        try other.export(to: directory.file("other.tdx"))
        try log.importEvents(from: directory.file("other.tdx"))
        try log.appendBlocking((0..<6).map { _ in .full(&random, after: []) })
        try log.mergeIndex(keeping: 30, eventsPerRun: 40)
        for sequence in UInt64(1)...6 {
            var receipt = Receipt.sample(of: log.origin, sequence)
            if sequence % 2 == 0 { receipt.receivedAt = Stamp(milliseconds: 900_000 + sequence) }
            if sequence == 3 { receipt.outcome = .refused(.tooLarge) }
            try log.recordReceipts([receipt])
        }
        return log
    }

    @Test func exportOfVersionOneIsImported() throws {
        let directory = try TemporaryDirectory()
        let expected = try golden(sample(directory))
        let log = try directory.store()
        try log.importEvents(from: GoldenFileTests.path("export-v1.tdx"))
        #expect(try text(log) == expected)
        #expect(try log.verify().problems == [])
    }

    /// A store with compacted events, whose files have format 2.
    private func compacted(_ directory: TemporaryDirectory) throws -> EventLog {
        let time = ManualTime()
        var options = EventLog.Options()
        options.now = { time.now }
        let log = try directory.store("compacted", options)
        for batch in 0..<8 {
            time.move(17)
            try log.appendBlocking((0..<10).map { .sample(batch * 10 + $0) })
        }
        try log.recordReceipts((1...40).map { .sample(of: log.origin, $0) })
        _ = try log.compact(
            CompactionRule(types: ["NoteTaken"]) { $0.map { _ in true } }, through: log.head,
            blockCount: 16)
        guard ProcessInfo.processInfo.environment["TAPEDECK_WRITE_VECTORS"] == "1" else {
            return log
        }
        try log.export(to: GoldenFileTests.path("export-v2.tdx"))
        try log.backup(to: GoldenFileTests.path("backup-v2.mdb"))
        try Data(text(log).utf8)
            .write(to: URL(fileURLWithPath: GoldenFileTests.path("events-v2.txt")))
        return log
    }

    @Test func filesOfVersionTwoAreRead() throws {
        let directory = try TemporaryDirectory()
        let sample = try compacted(directory)
        defer { sample.close() }
        let expected = try String(
            contentsOfFile: GoldenFileTests.path("events-v2.txt"), encoding: .utf8)
        let imported = try directory.store("imported")
        try imported.importEvents(from: GoldenFileTests.path("export-v2.tdx"))
        try EventLog.restore(
            from: GoldenFileTests.path("backup-v2.mdb"), into: directory.file("restored"))
        let restored = try EventLog(opening: directory.file("restored"))
        for log in [imported, restored] {
            #expect(try text(log) == expected)
            let report = try log.verify()
            #expect(report.problems == [] && report.compacted == 26)
            #expect(log.head.rawValue == 80)
            log.close()
        }
    }

    @Test func storeOfVersionOneIsOpened() throws {
        let directory = try TemporaryDirectory()
        let expected = try String(
            contentsOfFile: GoldenFileTests.path("events-v1.txt"), encoding: .utf8)
        try EventLog.restore(
            from: GoldenFileTests.path("backup-v1.mdb"), into: directory.file("store"))
        let log = try EventLog(opening: directory.file("store"))
        #expect(try text(log) == expected)
        #expect(try log.verify().problems == [])
        #expect(try log.unindexedCount() > 0)
        #expect(try log.events(after: .start, tag: Tag("note/1")).count > 5)
        try log.appendBlocking([.sample(1)])
        try log.mergeIndex()
        #expect(try log.verify().problems == [])
    }
}
