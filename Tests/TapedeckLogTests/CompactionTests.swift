import Foundation
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// Compaction removes superseded events and keeps their IDs, hashes and receipts.
@Suite(.offTasks) struct CompactionTests {
    /// Supersedes all `Tick` events except every tenth one.
    private static let rule = CompactionRule(types: ["Tick"]) { candidates in
        candidates.map { ($0.event.payload.first ?? 0) % 10 != 0 }
    }

    private static func tick(_ number: Int) -> ProposedEvent {
        ProposedEvent(
            type: "Tick", tags: [Tag(unchecked: "clock/\(number % 3)")],
            payload: [UInt8(truncatingIfNeeded: number % 200)])
    }

    private func append(_ count: Int, to log: EventLog) throws {
        for start in stride(from: 0, to: count, by: 100) {
            try log.appendBlocking((start..<min(start + 100, count)).map(Self.tick))
        }
    }

    private func compact(_ log: EventLog) throws -> CompactionReport {
        try log.compact(Self.rule, through: log.head).report
    }

    private func stubs(_ log: EventLog) throws -> [RangeStub] {
        var found: [RangeStub] = []
        let origins = try log.dictionaries().origins
        try log.read { transaction in
            _ = try log.walk(transaction, after: 0, through: log.head.rawValue) { record in
                if let stub = record.stub(of: origins[Int(record.origin)]) { found.append(stub) }
                return true
            }
        }
        return found
    }

    @Test func compactionProcessesWholeBlocksOnce() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(2_500, to: log)
        let before = try log.allEvents()
        let report = try compact(log)
        #expect(report.examined == 2_048 && report.waiting.isEmpty)
        // Nine of ten events are removed.
        #expect(report.removed > 1_830 && report.stubs >= 204 && report.stubs <= 208)
        let after = try log.allEvents()
        #expect(after.count == 2_500 - Int(report.removed))
        #expect(after == before.filter { event in after.contains { $0.id == event.id } })
        #expect(log.head.rawValue == 2_500)
        let verified = try log.verify()
        #expect(verified.problems == [])
        #expect(verified.compacted == report.removed)
        #expect(try compact(log).examined == 0)
        // Later events continue the log and are compacted in turn.
        try append(600, to: log)
        #expect(try compact(log).examined == 1_024)
        #expect(try log.verify().problems == [])
    }

    @Test func compactedEventsKeepTheirIDs() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(1_100, to: log)
        try log.export(to: directory.file("before.tdx"))
        let stay = try #require(try log.event(at: LogPosition(rawValue: 11)))
        _ = try compact(log)
        #expect(try log.event(at: LogPosition(rawValue: 11)) == stay)
        let gone = EventID(origin: log.origin, sequence: 15)
        #expect(try log.event(gone) == nil)
        #expect(try log.event(at: LogPosition(rawValue: 15)) == nil)
        #expect(try log.compacted(gone) == 12...20)
        #expect(try log.compacted(at: LogPosition(rawValue: 15))?.sequences == 12...20)
        #expect(try log.compacted(stay.id) == nil)
        let known = try log.importEvents(from: directory.file("before.tdx"))
        #expect(known.recorded == 0 && known.known == 1_100)
        #expect(
            try log.events(after: .start, limit: 100, tag: Tag(unchecked: "clock/0")).allSatisfy {
                ($0.payload.first ?? 0) % 10 == 0 || $0.position.rawValue > 1_024
            })
    }

    /// A store that has all, some or none of the events imports the export of a compacted store.
    @Test(arguments: [0, 5, 300, 1_030, 1_100])
    func anyStoreCanImportTheExportOfACompactedStore(_ known: Int) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("one")
        let other = try directory.store("other")
        defer { for log in [log, other] { log.close() } }
        try append(known, to: log)
        if known > 0 {
            try log.export(to: directory.file("part.tdx"))
            try other.importEvents(from: directory.file("part.tdx"))
        }
        try append(1_100 - known, to: log)
        _ = try compact(log)
        let exported = try log.export(to: directory.file("all.tdx"))
        try other.importEvents(from: directory.file("all.tdx"))
        #expect(other.head == log.head)
        #expect(try other.verify().problems == [])
        for sequence: UInt64 in [1, 11, 500, 1_031, 1_100] {
            let id = EventID(origin: log.origin, sequence: sequence)
            #expect(try other.event(id) != nil || other.compacted(id) != nil)
        }
        #expect(
            try other.chain(of: log.origin, at: 1_100) == log.chain(of: log.origin, at: 1_100))
        // Events that the store already contained remain; all other events equal the events in the
        // export.
        #expect(try other.event(EventID(origin: log.origin, sequence: 3)) != nil || known < 3)
        if known == 0 {
            let again = try other.export(to: directory.file("again.tdx"))
            #expect(again.events == exported.events)
        }
        #expect(try log.importEvents(from: directory.file("all.tdx")).recorded == 0)
        // Later events can be imported, too.
        try append(20, to: log)
        try log.export(to: directory.file("more.tdx"))
        #expect(try other.importEvents(from: directory.file("more.tdx")).recorded == 20)
        #expect(try other.verify().problems == [])
    }

    @Test func compactedEventsOfADifferentHistoryAreAFork() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("one")
        defer { log.close() }
        try append(1_100, to: log)
        var file = ForgedExport(log.storeID)
        var events = try log.events(after: .start, limit: 20)
        events[10].payload = [77]
        file.add(events)
        try Data(file.end()).write(to: URL(fileURLWithPath: directory.file("fork.tdx")))
        let other = try directory.store("other")
        defer { other.close() }
        try other.importEvents(from: directory.file("fork.tdx"))
        _ = try compact(log)
        try log.export(to: directory.file("all.tdx"))
        let error = #expect(throws: LogError.self) {
            try other.importEvents(from: directory.file("all.tdx"))
        }
        #expect(error?.code == .fork)
    }

    @Test func unsettledEventsAreNotCompacted() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(3_100, to: log)
        var rule = Self.rule
        rule.isSettled = { id, _ in id.sequence <= 2_048 }
        let first = try log.compact(rule, through: LogPosition(rawValue: 1_500)).report
        #expect(first.examined == 1_024 && first.waiting.map(\.reason) == [.projections])
        #expect(first.waiting.map(\.sequence) == [1_025])
        let second = try log.compact(rule, through: log.head).report
        #expect(second.examined == 1_024 && second.waiting.map(\.reason) == [.notDelivered])
        let subscription = try log.subscribe(named: "slow", from: .now, EventFilter())
        defer { subscription.close() }
        try append(2_048, to: log)
        let third = try log.compact(Self.rule, through: log.head).report
        #expect(third.examined == 1_024 && third.waiting.map(\.reason) == [.subscription])
        #expect(try log.verify().problems == [])
    }

    @Test func refusedEventIsNotCompacted() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(1_024, to: log)
        let lineage = LineageID(high: 1, low: 1)
        func receipt(_ sequence: UInt64, _ outcome: Receipt.Outcome) -> Receipt {
            Receipt(
                event: EventID(origin: log.origin, sequence: sequence), lineage: lineage,
                serverPosition: sequence, receivedAt: Stamp(milliseconds: 1 << 45),
                outcome: outcome)
        }
        try log.recordReceipts(
            (1...1_024).map { receipt($0, $0 == 15 ? .refused(.tooLarge) : .accepted) })
        _ = try compact(log)
        #expect(try log.event(EventID(origin: log.origin, sequence: 15)) != nil)
        #expect(try log.compacted(EventID(origin: log.origin, sequence: 14)) == 12...14)
        // The receipt of the last event represents the removed range.
        #expect(try log.receipts(of: EventID(origin: log.origin, sequence: 13)).isEmpty)
        #expect(try log.receipts(of: EventID(origin: log.origin, sequence: 14)).count == 1)
        #expect(try log.recordReceipts([receipt(13, .accepted)]) == 0)
        #expect(try log.verify().problems == [])
    }

    @Test func compactionRaisesTheStoreFormat() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try append(1_100, to: log)
        func format() throws -> Int {
            try StoreDirectory(directory.file("store")).readMarker().format
        }
        #expect(try format() == 1)
        _ = try compact(log)
        #expect(try format() == 2)
        try log.backup(to: directory.file("backup"))
        let events = try log.allEvents()
        log.close()
        try EventLog.restore(from: directory.file("backup"), into: directory.file("restored"))
        #expect(try StoreDirectory(directory.file("restored")).readMarker().format == 2)
        let restored = try EventLog(opening: directory.file("restored"))
        defer { restored.close() }
        #expect(try restored.allEvents() == events)
    }

    @Test func closedStoreFileCanBeShrunk() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for start in stride(from: 0, to: 40_000, by: 10_000) {
            try log.appendBlocking((start..<start + 10_000).map(Self.tick))
        }
        _ = try compact(log)
        let (origin, events) = (log.origin, try log.allEvents())
        let busy = #expect(throws: LogError.self) { try EventLog.shrink(directory.file("store")) }
        #expect(busy?.code == .busy)
        log.close()
        let summary = try EventLog.shrink(directory.file("store"))
        #expect(summary.bytes * 3 < summary.bytesBefore, "\(summary)")
        let again = try EventLog(opening: directory.file("store"))
        defer { again.close() }
        #expect(again.origin == origin, "shrinking must keep the origin")
        #expect(try again.allEvents() == events)
        #expect(try again.verify().problems == [])
        try append(10, to: again)
        #expect(try again.verify().problems == [])
    }

    // MARK: - Stubs from other stores

    private static let lineage = LineageID(high: 3, low: 3)

    private func receipt(of event: EventID, _ position: UInt64) -> Receipt {
        Receipt(
            event: event, lineage: Self.lineage, serverPosition: position,
            receivedAt: Stamp(milliseconds: 1 << 44 + position), outcome: .accepted)
    }

    private func stub(
        of origin: OriginID, _ sequences: ClosedRange<UInt64>, before: HashChain = HashChain()
    ) throws -> RangeStub {
        var after = HashChain()
        [UInt8(7)].withUnsafeBytes { after.add($0) }
        return try RangeStub(
            origin: origin, sequences: sequences, stamp: Stamp(milliseconds: 1_000),
            before: before, after: after)
    }

    private func page(_ stub: RangeStub) -> ForeignEvents {
        var page = ForeignEvents()
        stub.canonical.withUnsafeBytes { page.add($0, receipt(of: stub.id, 1)) }
        return page
    }

    /// Devices resend the receipts of a lost server, and some devices have already compacted the
    /// events.
    @Test func receiptsOfCompactedEventsAreIgnored() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        let origin = OriginID(high: 9, low: 9)
        var page = page(try stub(of: origin, 1...5))
        var former = receipt(of: EventID(origin: origin, sequence: 2), 40)
        former.lineage = LineageID(high: 1, low: 1)
        page.add(former)
        #expect(try log.record(page).recorded == 1)
        #expect(try log.compacted(former.event) == 1...5)
        #expect(try log.receipts(of: former.event).isEmpty)
        #expect(try log.verify().problems == [])
    }

    /// An abandoned history may end with compacted events or consist only of compacted events.
    @Test(arguments: [0, 3])
    func healingAbandonsCompactedEventsToo(_ events: Int) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("one")
        let source = try directory.store("source")
        defer { for log in [log, source] { log.close() } }
        if events > 0 {
            try append(events, to: source)
            try source.export(to: directory.file("source.tdx"))
            try log.importEvents(from: directory.file("source.tdx"))
        }
        let count = UInt64(events)
        let chain = try source.chain(of: source.origin, at: count)
        let tail = try stub(
            of: source.origin, count + 1...count + 9, before: try #require(chain))
        #expect(try log.record(page(tail)).recorded == 1)
        #expect(try log.verify().problems == [])
        let healed = try log.heal(from: EventID(origin: source.origin, sequence: 1))
        #expect(healed == count)
        #expect(try log.verify().problems == [])
        try log.export(to: directory.file("all.tdx"))
        let other = try directory.store("other")
        defer { other.close() }
        try other.importEvents(from: directory.file("all.tdx"))
        #expect(try other.verify().problems == [])
    }

    @Test func stubOfADifferentHistoryIsAFork() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(10, to: log)
        for first: UInt64 in [3, 11] {
            let error = #expect(throws: LogError.self) {
                try log.record(page(try stub(of: log.origin, first...30)))
            }
            #expect(error?.code == .fork)
        }
        #expect(log.head.rawValue == 10)
    }

    /// A server may still correct stamps that are in the future, so the stamps of the remaining
    /// events may change.
    @Test func eventsStampedInTheFutureAreNotCompacted() throws {
        let directory = try TemporaryDirectory()
        let time = ManualTime()
        var options = EventLog.Options()
        options.now = { time.now }
        let log = try directory.store("store", options)
        defer { log.close() }
        time.move(1_000_000)
        try append(1_100, to: log)
        time.move(-500_000)
        #expect(try compact(log).waiting.map(\.reason) == [.clock])
        time.move(600_000)
        #expect(try compact(log).removed > 800)
    }

    @Test func invalidStubIsReportedAsDamage() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        defer { log.close() }
        try append(1_100, to: log)
        _ = try compact(log)
        let stub = try #require(try stubs(log).first)
        let position = stub.sequences.upperBound
        for first in [
            stub.sequences.lowerBound - 1, 0, position + 1, stub.sequences.lowerBound + 1,
        ] {
            try log.write { transaction in
                guard let held = try transaction.get(log.tables.events, integer: position),
                    let record = RecordView(held)
                else { return }
                var bytes = Array(held)
                withUnsafeBytes(of: first.littleEndian) {
                    bytes.replaceSubrange(record.payloadStart..<record.payloadStart + 8, with: $0)
                }
                let checksum = bytes.withUnsafeBytes {
                    crc32c(UnsafeRawBufferPointer(rebasing: $0[4...]))
                }
                withUnsafeBytes(of: checksum.littleEndian) {
                    bytes.replaceSubrange(0..<4, with: $0)
                }
                try transaction.put(log.tables.events, integer: position, bytes)
            }
            #expect(try !log.verify().isIntact, "\(first)")
        }
    }
}
