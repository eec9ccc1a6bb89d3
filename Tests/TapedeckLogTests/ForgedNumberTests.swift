import Foundation
import TapedeckLMDB
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A forged number in an intact row causes an error or has no effect; it never ends the process.
///
/// Anyone can compute a checksum, so an intact row can contain any number.
@Suite(.offTasks) struct ForgedNumberTests {
    enum Part: String, CaseIterable {
        case meta, events, receipts, overrides, changes, index
    }

    /// A number in the key or the value of a row.
    private struct Field {
        var offset: Int
        var width: Int
        var isInKey = false
        var isBigEndian = false

        static func key(_ offset: Int, _ width: Int, isBigEndian: Bool = true) -> Field {
            Field(offset: offset, width: width, isInKey: true, isBigEndian: isBigEndian)
        }

        static func value(_ offset: Int, _ width: Int = 8) -> Field {
            Field(offset: offset, width: width)
        }
    }

    private struct Row {
        var key: [UInt8]
        var value: [UInt8]
    }

    /// The number fields of every kind of row in `meta`; ids and names are not numbers.
    private static let metaFields: [Character: [Field]] = [
        "b": [.value(0)],
        "c": [.value(0), .value(8, 1)],
        "f": [.value(0, 4)],
        "i": [],
        "k": [.key(1, 4), .key(5, 8), .value(0)],
        "n": [.value(0)],
        "o": [.value(16), .value(24), .value(32), .value(40), .value(48, 1), .value(49)],
        "r": [.value(0, 4), .value(4, 4), .value(8, 1), .value(9), .value(17)]
            + [.value(25, 4), .value(29, 1), .value(30), .value(38)],
        "s": [.key(1, 4), .key(5, 8), .value(0), .value(8, 1)],
        "t": [],
        "w": [.key(17, 8), .key(25, 8)],
        "x": [.value(0)],
        "y": [.value(0)],
    ]

    private static let recordFields: [Field] =
        [.key(0, 8, isBigEndian: false), .value(4, 1), .value(5, 1), .value(6, 2)]
        + [.value(8), .value(16), .value(24), .value(32, 4), .value(36, 2), .value(38, 1)]
        + [.value(39, 1), .value(40, 2), .value(42, 1), .value(43, 1), .value(44, 2)]

    private static func fields(of row: Row, in part: Part) -> [Field]? {
        switch part {
        case .meta: return metaFields[Character(UnicodeScalar(row.key[0]))]
        case .events:
            guard let payload = row.value.withUnsafeBytes({ RecordView($0)?.payloadStart }) else {
                return nil
            }
            // The payload of a range stub begins with a sequence number.
            return recordFields + [.value(payload)]
        case .receipts: return [.key(0, 4), .key(4, 8), .value(0), .value(8), .value(16, 1)]
        case .overrides:
            return [.key(0, 8, isBigEndian: false), .value(0), .value(8, 1), .value(9)]
        case .changes: return [.key(0, 8, isBigEndian: false), .value(0)]
        case .index: return [.key(0, 4), .key(4, 8), .key(12, 8), .value(0, 1)]
        }
    }

    private static let extremes: [UInt64] = [
        0, 1, 1 << 31, 1 << 32 - 1, 1 << 63 - 1, 1 << 63, .max,
    ]

    private let directory: TemporaryDirectory
    private var store: String { directory.file("store") }
    private var file: URL { URL(fileURLWithPath: store + "/log.mdb") }

    init() throws { directory = try TemporaryDirectory() }

    // MARK: - The store

    private static let rule = CompactionRule(types: ["Tick"]) { candidates in
        candidates.map { ($0.event.payload.first ?? 0) % 4 != 0 }
    }

    private static func tick(_ number: Int) -> ProposedEvent {
        ProposedEvent(
            type: "Tick", tags: [Tag(unchecked: "clock/1")],
            payload: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16))
    }

    /// Creates a store with every kind of row, and returns its log file.
    private func filled() throws -> Data {
        let other = try directory.store("other")
        try other.appendBlocking((0..<12).map { .sample($0) })
        try other.export(to: directory.file("other.tdx"))
        let foreign = other.origin
        other.close()

        let log = try EventLog.create(store)
        defer { log.close() }
        try log.appendBlocking((0..<20).map { Self.tick($0) })
        try log.importEvents(from: directory.file("other.tdx"))
        _ = try log.compact(Self.rule, through: log.head, blockCount: 8)
        var fact = ProposedEvent.sample(1)
        fact.fact = ObservedFact(entity: "show/1", content: [1], version: 1, observedAt: 1)
        fact.causation = EventID(origin: log.origin, sequence: 1)
        try log.appendBlocking([fact] + (0..<60).map { .sample($0) })
        try log.mergeIndex(keeping: 30, eventsPerRun: 20)
        try log.heal(from: EventID(origin: foreign, sequence: 9))
        try log.recordReceipts((30...40).map { .sample(of: log.origin, $0) })
        try log.setSyncRows([ReceiptRounds.row(3)])
        try log.setViews(
            ViewsEntry(number: try log.newViewsNumber(), boot: "b"),
            for: [Digest16(high: 1, low: 2)])
        #expect(try log.verify().problems == [])
        return try Data(contentsOf: file)
    }

    private static func table(_ part: Part, _ tables: LogTables) -> Table {
        switch part {
        case .meta: tables.meta
        case .events: tables.events
        case .receipts: tables.receipts
        case .overrides: tables.overrides
        case .changes: tables.changes
        case .index: tables.index
        }
    }

    /// Returns the last row of each kind.
    private func rows(of part: Part) throws -> [Row] {
        var last: [String: Row] = [:]
        try RawStore.edit(store) { transaction, tables in
            let cursor = try transaction.cursor(Self.table(part, tables))
            var entry = try cursor.first()
            while let found = entry {
                let row = Row(key: Array(found.key), value: Array(found.value))
                last[Self.kind(of: row, in: part)] = row
                entry = try cursor.next()
            }
        }
        return last.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func kind(of row: Row, in part: Part) -> String {
        switch part {
        case .meta: "\(row.key[0]) \(row.key.count > 1)"
        case .events:
            "\(RecordLayout.Flags(rawValue: row.value[5]).intersection([.stub, .fact, .reissued]))"
        default: ""
        }
    }

    /// Puts a number into a field, and gives the row a matching checksum.
    private func forge(_ number: UInt64, _ field: Field, of row: Row, in part: Part) throws {
        var new = row
        let bytes = (0..<field.width).map { index in
            UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
        }
        let range = field.offset..<field.offset + field.width
        if field.isInKey {
            new.key.replaceSubrange(range, with: field.isBigEndian ? bytes.reversed() : bytes)
        } else {
            new.value.replaceSubrange(range, with: bytes)
        }
        if part == .events {
            let sum = new.value.withUnsafeBytes {
                crc32c(UnsafeRawBufferPointer(rebasing: $0[4...]))
            }
            new.value.replaceSubrange(
                0..<4, with: withUnsafeBytes(of: sum.littleEndian) { Array($0) })
        } else {
            new.value.removeLast(4)
            SealedValue.seal(&new.value, key: new.key)
        }
        try RawStore.edit(store) { transaction, tables in
            let table = Self.table(part, tables)
            try transaction.delete(table, row.key)
            try transaction.put(table, new.key, new.value)
        }
    }

    // MARK: - The uses of the store

    /// Runs `body`, which may fail with an error for users.
    private func attempt(_ what: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            let code = (error as? LogError)?.code
            #expect(code != nil && code != .internalError, "\(what): \(error)")
        }
    }

    private func use(_ what: String) {
        attempt("\(what), open") {
            let log = try EventLog(opening: store)
            defer { log.close() }
            let own = log.origin
            let first = EventID(origin: own, sequence: 1)
            let uses: [(String, () throws -> Void)] = [
                ("verify", { _ = try log.verify() }),
                ("read", { _ = try log.allEvents() }),
                ("look up", { _ = try log.event(first) }),
                ("look up a tag", { _ = try log.events(after: .start, tag: Tag("clock", "1")) }),
                ("scan", { try log.scan { _ in } }),
                ("count", { _ = try log.unindexedCount() }),
                ("ahead", { _ = try log.eventsAhead(of: 0) }),
                ("canonical", { try log.forEachCanonical(of: own, after: 0) { _, _ in true } }),
                ("chain", { _ = try log.chain(of: own, at: log.origins()[0].lastSequence) }),
                ("receipts", { _ = try log.receipts(after: [], limit: 100) }),
                (
                    "overrides",
                    { try log.read { _ = try log.overrides($0, changedAfter: 0) } }
                ),
                (
                    "history",
                    { try log.read { _ = try log.historyMark(through: 20, change: 1, $0) } }
                ),
                ("export", { try log.export(to: directory.file("copy.tdx")) }),
                ("backup", { try log.backup(to: directory.file("copy.mdb")) }),
                ("append", { try log.appendBlocking([.sample(1), .sample(2)]) }),
                ("record receipts", { try log.recordReceipts([.sample(of: own, 45)]) }),
                (
                    "compact",
                    { _ = try log.compact(Self.rule, through: log.head, blockCount: 8) }
                ),
                ("import", { try log.importEvents(from: directory.file("other.tdx")) }),
                ("new views", { _ = try log.newViewsNumber() }),
                ("heal", { try log.heal(from: EventID(origin: own, sequence: 50)) }),
            ]
            for (name, use) in uses { attempt("\(what), \(name)", use) }
        }
    }

    // MARK: - Tests

    @Test(arguments: Part.allCases) func everyNumberMayBeForged(_ part: Part) throws {
        let intact = try filled()
        let rows = try rows(of: part)
        if part == .meta {
            // A new kind of row needs an entry in the table of fields.
            let kinds = Set(rows.map { Character(UnicodeScalar($0.key[0])) })
            #expect(kinds == Set(Self.metaFields.keys))
        }
        #expect(!rows.isEmpty)
        for row in rows {
            let fields = try #require(Self.fields(of: row, in: part), "\(row.key)")
            for field in fields
            where field.offset + field.width <= (field.isInKey ? row.key : row.value).count {
                // In a narrow field, several numbers have the same bytes.
                let numbers = Set(Self.extremes.map { $0 & (.max >> UInt64(64 - 8 * field.width)) })
                for number in Soak.sample(numbers.sorted(), 2) {
                    // Writing to the same file keeps the origin of the store.
                    try intact.write(to: file)
                    try forge(number, field, of: row, in: part)
                    use("\(number) in row \(row.key.hex) at \(field)")
                }
            }
        }
        try intact.write(to: file)
        let log = try EventLog(opening: store)
        defer { log.close() }
        #expect(try log.verify().problems == [])
    }

    /// With such a number, an append would record an event that cannot be read again.
    @Test(arguments: [1 << 20, 1 << 63 - 1, .max] as [UInt64])
    func impossibleSequenceNumberOfAnOriginIsReported(_ sequence: UInt64) throws {
        _ = try filled()
        let rows = try rows(of: .meta)
        let own = try #require(rows.last { $0.key[0] == UInt8(ascii: "o") })
        try forge(sequence, .value(16), of: own, in: .meta)
        let error = #expect(throws: LogError.self) { try EventLog(opening: store).close() }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("row \(own.key.hex)") == true)
        #expect(error?.hint != nil)
    }

    /// The marks of a subscription are in a file of their own.
    @Test(arguments: extremes) func forgedMarksOfASubscriptionAreHarmless(_ number: UInt64) throws {
        let log = try directory.store()
        defer { log.close() }
        try log.appendBlocking((0..<20).map { .sample($0) })
        try log.subscribe(named: "mails", from: .now, EventFilter()).close()
        let path = store + "/subscriptions/mails"
        let marks = [number, 7].map {
            SubscriptionMark(position: $0, checksum: 1, history: .start)
        }
        for order in [marks, marks.reversed()] {
            do {
                let file = try SubscriptionFile(path)
                _ = try? file.read()
                // Both slots.
                for _ in 0..<2 { try file.write(SubscriptionMarks(order)) }
            }
            try useSubscription(of: log)
        }
        // The number of the slot, and its checksum.
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        for start in stride(from: 0, to: bytes.count, by: SubscriptionMarks.slotCount) {
            var slot = Array(bytes[start..<start + SubscriptionMarks.slotCount])
            slot.replaceSubrange(
                8..<16, with: withUnsafeBytes(of: number.littleEndian) { Array($0) })
            let sum = slot.withUnsafeBytes { crc32c(UnsafeRawBufferPointer(rebasing: $0[4...])) }
            slot.replaceSubrange(0..<4, with: withUnsafeBytes(of: sum.littleEndian) { Array($0) })
            bytes.replaceSubrange(start..<start + slot.count, with: slot)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try useSubscription(of: log)
    }

    private func useSubscription(of log: EventLog) throws {
        attempt("status") { _ = try log.subscriptionStatuses() }
        attempt("subscribe") {
            let mails = try log.subscribe(named: "mails", from: .now, EventFilter())
            defer { mails.close() }
            try log.appendBlocking([.sample(1)])
        }
    }
}
