import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct ImportTests {
    private let directory: TemporaryDirectory
    private let source: EventLog
    private let file: String

    init() throws {
        directory = try TemporaryDirectory("import")
        source = try directory.store("source")
        for round in 0..<10 { try source.appendBlocking((0..<30).map { .sample($0 + round) }) }
        try source.recordReceipts([.sample(of: source.origin, 5), .sample(of: source.origin, 6)])
        file = directory.file("source.tdx")
        try source.export(to: file)
    }

    private func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    }

    private func write(_ bytes: [UInt8], _ name: String = "changed.tdx") throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
        return directory.file(name)
    }

    /// Expects that an import is refused and records nothing.
    private func refused(
        _ path: String, by target: EventLog, _ code: ErrorCode,
        location: SourceLocation = #_sourceLocation
    ) throws -> LogError? {
        let head = target.head
        let error = #expect(throws: LogError.self, sourceLocation: location) {
            try target.importEvents(from: path)
        }
        #expect(
            error?.code == code, "\(String(describing: error))", sourceLocation: location)
        #expect(target.head == head, sourceLocation: location)
        return error
    }

    @Test func exportingTwiceYieldsTheSameFile() throws {
        try source.export(to: directory.file("again.tdx"))
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: directory.file("again.tdx"))) == Data(bytes())
        )
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                == ["again.tdx", "source", "source.tdx"])
    }

    @Test func importRecordsOnlyUnknownEvents() throws {
        let target = try directory.store("target")
        try target.appendBlocking([.sample(1), .sample(2)])
        try target.importEvents(from: file)
        try source.appendBlocking([.sample(7), .sample(8)])
        try target.appendBlocking([.sample(3)])
        try source.export(to: file)
        let summary = try target.importEvents(from: file)
        #expect(summary == ImportSummary(events: 302, recorded: 2, known: 300, receipts: 0))
        #expect(target.head.rawValue == 305)
        #expect(
            try target.event(EventID(origin: target.origin, sequence: 3))?.position.rawValue == 303)
        #expect(
            try target.event(EventID(origin: source.origin, sequence: 302))?.position.rawValue
                == 305)
        #expect(try target.verify().problems == [])
    }

    @Test func storesHaveTheSameEventsAfterAnExchange() throws {
        let target = try directory.store("target")
        try target.appendBlocking([.sample(1)])
        try target.importEvents(from: file)
        try target.export(to: directory.file("back.tdx"))
        let summary = try source.importEvents(from: directory.file("back.tdx"))
        #expect(summary == ImportSummary(events: 301, recorded: 1, known: 300, receipts: 0))
        let contents = { (log: EventLog) in
            try log.allEvents().map(\.content).sorted { $0.id < $1.id }
        }
        #expect(try contents(source) == contents(target))
        #expect(try source.appendBlocking([.sample(1)]).firstID.sequence == 301)
        #expect(try source.verify().problems == [])
    }

    @Test func everyFlippedBitIsDetected() throws {
        let target = try directory.store("target")
        let whole = try bytes()
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<150 {
            var changed = whole
            changed[.random(in: 0..<whole.count, using: &random)] ^=
                UInt8(1) << Int.random(in: 0...7, using: &random)
            let path = try write(changed)
            let error = #expect(throws: LogError.self) { try target.importEvents(from: path) }
            #expect(error?.code == .damaged || error?.code == .newerFormat)
            #expect(error?.message.contains(error?.code == .damaged ? "at byte" : "format") == true)
            #expect(target.head == .start)
        }
    }

    @Test func truncatedOrExtendedFileIsDetected() throws {
        let target = try directory.store("target")
        let whole = try bytes()
        var random = SeededRandom(Seed.fresh())
        let cuts =
            [0, 1, 31, 32, 33, 40, whole.count - 1]
            + (0..<50).map { _ in
                Int.random(in: 0..<whole.count, using: &random)
            }
        for cut in cuts {
            _ = try refused(write(Array(whole[..<cut])), by: target, .damaged)
        }
        _ = try refused(write(whole + [0]), by: target, .damaged)
        _ = try refused(write(whole + whole), by: target, .damaged)
    }

    @Test func theSameIDWithDifferentContentIsAFork() throws {
        source.close()
        // Two copies of a store keep recording under the same origin, which the install mark
        // normally prevents.
        for (name, number) in [("left", 1), ("right", 2)] {
            try FileManager.default.createDirectory(
                atPath: directory.file(name), withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: directory.file("source/log.mdb"), toPath: directory.file(name + "/log.mdb"))
            try FileManager.default.copyItem(
                atPath: directory.file("source/store.json"),
                toPath: directory.file(name + "/store.json"))
            try pretendToBeHere(directory.file(name))
            let log = try EventLog(opening: directory.file(name))
            #expect(log.origin == source.origin)
            try log.appendBlocking([.sample(number)])
            try log.export(to: directory.file(name + ".tdx"))
            log.close()
        }
        let target = try directory.store("target")
        try target.importEvents(from: directory.file("left.tdx"))
        let error = try refused(directory.file("right.tdx"), by: target, .fork)
        let id = EventID(origin: source.origin, sequence: 301)
        #expect(error?.message.contains(id.description) == true)
        #expect(error?.position?.rawValue == 301)
    }

    /// Gives a copied store the install mark of its new location, so that it keeps its origin.
    private func pretendToBeHere(_ path: String) throws {
        let place = StoreDirectory(path)
        let mark = try place.installMark()
        let log = source
        let identity =
            [log.storeID.high, log.storeID.low, log.origin.high, log.origin.low]
        var row: [UInt8] = []
        for half in identity { row.appendBigEndian(half) }
        try RawStore.edit(path) { transaction, tables in
            try transaction.setMeta(tables, MetaKey.store, row + mark)
        }
    }

    @Test func nonconsecutiveEventsAreReportedAsAGap() throws {
        // A file that begins with the second event of its origin.
        var forged = ForgedExport(source.storeID)
        let events = try source.allEvents()
        forged.add(events[1...4].map { $0 })
        _ = try refused(write(forged.end()), by: try directory.store("target"), .gap)

        var hole = ForgedExport(source.storeID)
        hole.add([events[0], events[2]])
        _ = try refused(write(hole.end()), by: try directory.store("other"), .gap)
    }

    @Test func wellFormedFileWithForgedContentIsRefused() throws {
        let target = try directory.store("target")
        let events = try source.allEvents()
        var chain = ForgedExport(source.storeID)
        chain.add([events[0]], chain: [UInt8](repeating: 7, count: 32))
        _ = try refused(write(chain.end()), by: target, .damaged)

        var stray = ForgedExport(source.storeID)
        stray.add([events[0]], receipts: [.sample(of: source.origin, 2)])
        _ = try refused(write(stray.end()), by: target, .damaged)

        var counts = ForgedExport(source.storeID)
        counts.add([events[0]])
        counts.events += 1
        _ = try refused(write(counts.end()), by: target, .damaged)

        for change in ForgedExport.changes {
            var forged = ForgedExport(source.storeID)
            forged.add([events[0]], change: change)
            _ = try refused(write(forged.end()), by: target, .damaged)
        }
        // `ForgedExport` itself writes valid files.
        var fine = ForgedExport(source.storeID)
        fine.add(Array(events[0..<10]), receipts: [.sample(of: source.origin, 2)])
        #expect(try target.importEvents(from: write(fine.end())).recorded == 10)
        #expect(try target.verify().problems == [])
    }

    @Test func refusalOfANewerExportNamesItsFormat() throws {
        var changed = try bytes()
        changed[8] = 3
        let error = try refused(write(changed), by: try directory.store("target"), .newerFormat)
        #expect(error?.message.contains("format 3") == true)
    }

    @Test func missingFileAndDirectoryAreRefused() throws {
        let target = try directory.store("target")
        _ = try refused(directory.file("nothing"), by: target, .notFound)
        _ = try refused(directory.path, by: target, .usage)
        let error = #expect(throws: LogError.self) {
            try source.export(to: directory.file("no/such/place.tdx"))
        }
        #expect(error?.code == .notFound)
    }

    @Test func exportIntoTheStoreItselfIsRefused() throws {
        for name in ["source/log.mdb", "source/../source/x.tdx", "source/store.json"] {
            let error = #expect(throws: LogError.self) {
                try source.export(to: directory.file(name))
            }
            #expect(error?.code == .usage)
            #expect(throws: LogError.self) { try source.backup(to: directory.file(name)) }
        }
    }

    @Test func clockFollowsOnlyEffectiveStamps() throws {
        let time = ManualTime()
        var options = EventLog.Options()
        options.now = { time.now }
        let ahead = try directory.store("ahead", .init(now: { 9_000_000 }))
        var given = ProposedEvent.sample(3)
        given.atMilliseconds = 90_000_000_000
        try ahead.appendBlocking([.sample(1), .sample(2), given])
        try ahead.recordReceipts([
            Receipt(
                event: EventID(origin: ahead.origin, sequence: 1),
                lineage: LineageID(high: 1, low: 1), serverPosition: 1,
                receivedAt: Stamp(milliseconds: 2_000_000)),
            Receipt(
                event: EventID(origin: ahead.origin, sequence: 2),
                lineage: LineageID(high: 1, low: 1), serverPosition: 2,
                receivedAt: Stamp(milliseconds: 2_000_005)),
        ])
        try ahead.export(to: directory.file("ahead.tdx"))
        let target = try directory.store("target", options)
        try target.importEvents(from: directory.file("ahead.tdx"))
        let id = try target.appendBlocking([.sample(1)]).firstID
        // The new stamp is later than the stamps that servers accepted, but far earlier than the
        // clock of the other device.
        #expect(try target.event(id)?.stamp == Stamp(milliseconds: 2_000_005, counter: 1))
    }

    /// No server has received these events, so only their own stamps are known.
    @Test(arguments: [(ahead: 3_600_000 as UInt64, follows: true), (473_000_000_000, false)])
    func importedStampsMoveTheClockOnlyWithinALimit(ahead: UInt64, follows: Bool) throws {
        let now: UInt64 = 1_735_689_600_000
        let wrong = try directory.store("wrong", .init(now: { now + ahead }))
        try wrong.appendBlocking([.sample(1), .sample(2)])
        try wrong.export(to: directory.file("wrong.tdx"))
        let target = try directory.store("target", .init(now: { now }))
        try target.importEvents(from: directory.file("wrong.tdx"))
        let id = try target.appendBlocking([.sample(1)]).firstID
        let stamp = try #require(try target.event(id)?.stamp)
        #expect(stamp.milliseconds == (follows ? now + ahead : now))
        // Imported events keep their stamps.
        #expect(try target.event(at: LogPosition(rawValue: 1))?.stamp.milliseconds == now + ahead)
        #expect(try target.verify().problems == [])
    }

    @Test func emptyStoreCanBeExportedAndImported() throws {
        let empty = try directory.store("empty")
        #expect(try empty.export(to: directory.file("empty.tdx")).events == 0)
        let summary = try source.importEvents(from: directory.file("empty.tdx"))
        #expect(summary == ImportSummary(events: 0, recorded: 0, known: 0, receipts: 0))
    }

    /// A store with sample events cannot be synced, so an import must not make other stores such.
    @Test func sampleEventsAreImportedOnlyIntoStoresWithSampleEvents() throws {
        let target = try directory.store("target")
        try target.importEvents(from: file)
        var event = ProposedEvent.sample(1)
        event.tags.append(EventLog.sampleTag)
        // The sample event is in the last of several blocks.
        try source.appendBlocking((0..<ExportFormat.eventsPerBlockMax).map { .sample($0) })
        try source.appendBlocking([event])
        try source.export(to: file)
        let error = try refused(file, by: target, .usage)
        #expect(error?.message.hasPrefix("\(file) contains sample events") == true)
        #expect(error?.hint?.contains("storectl init --store DIR --demo") == true)
        try target.checkHasNoSamples()

        let demo = try directory.store("demo")
        try demo.appendBlocking([event])
        let summary = try demo.importEvents(from: file)
        #expect(summary.recorded == summary.events)
        #expect(try demo.verify().problems == [])
    }

    /// A backup is not a damaged export.
    @Test func importRecognizesABackup() throws {
        let backup = directory.file("my backup")
        try source.backup(to: backup)
        let error = try refused(backup, by: directory.store("target"), .usage)
        #expect(error?.message == "\(backup) is a backup, not an export")
        #expect(error?.hint?.hasSuffix("storectl restore --store DIR '\(backup)'") == true)
    }

    @Test func importReportsItsProgress() throws {
        var phases: [LogProgress] = []
        let target = try directory.store("target")
        try target.importEvents(from: file) { phases.append($0) }
        #expect(phases.map(\.phase).contains(.checking))
        #expect(phases.last == LogProgress(phase: .writing, done: 300, total: 300))
    }

    @Test func concurrentImportsRecordEachEventOnce() throws {
        let target = try directory.store("target")
        let group = DispatchGroup()
        for _ in 0..<4 {
            DispatchQueue.global().async(group: group) {
                do { try target.importEvents(from: file) } catch { Issue.record(error) }
            }
        }
        for number in 0..<50 { try target.appendBlocking([.sample(number)]) }
        group.wait()
        #expect(target.head.rawValue == 350)
        #expect(try target.verify().problems == [])
    }
}
