internal import TapedeckLMDB
internal import TapedeckModel

/// Writes receipts and the resulting overrides inside a write transaction.
struct ReceiptWriter: ~Copyable {
    private let tables: LogTables
    /// The number of the last change; nil until the first change in this transaction.
    private var lastChange: UInt64?

    init(_ tables: LogTables) { self.tables = tables }

    /// Records a receipt for the event at `position`; returns false if it has no effect.
    ///
    /// - Parameters:
    ///   - ordinal: The log's number for the event's origin.
    ///   - stamp: The event's own stamp.
    mutating func add(
        _ receipt: Receipt, ordinal: UInt32, position: UInt64, stamp: Stamp,
        _ transaction: borrowing WriteTransaction
    ) throws -> Bool {
        let key = ReceiptRow.key(ordinal, receipt.event.sequence, receipt.lineage)
        if let held = try key.withUnsafeBytes({ bytes in
            try transaction.get(tables.receipts, bytes).map { value in
                guard let read = ReceiptRow.read(bytes, value, origin: receipt.event.origin) else {
                    throw LogError.damagedReceipt(receipt.event)
                }
                return read
            }
        }), !receipt.counts(before: held) {
            return false
        }
        try transaction.put(tables.receipts, key, ReceiptRow.value(receipt, key: key))
        let all = try ReceiptReader.receipts(
            of: receipt.event, ordinal: ordinal, transaction, tables)
        try settle(Standing(of: stamp, all), of: stamp, at: position, transaction)
        return true
    }

    /// Records the first receipts of an event that was recorded in this transaction; returns the
    /// number of receipts that had an effect.
    ///
    /// - Parameter cursor: A cursor on the table of receipts in `transaction`.
    mutating func addFirst(
        _ receipts: [Receipt], ordinal: UInt32, position: UInt64, stamp: Stamp,
        _ transaction: borrowing WriteTransaction, _ cursor: borrowing Cursor
    ) throws -> UInt64 {
        guard receipts.count == 1, let receipt = receipts.first else {
            var changed: UInt64 = 0
            for receipt in receipts
            where try add(receipt, ordinal: ordinal, position: position, stamp: stamp, transaction)
            {
                changed += 1
            }
            return changed
        }
        let key = ReceiptRow.key(ordinal, receipt.event.sequence, receipt.lineage)
        try cursor.put(key, ReceiptRow.value(receipt, key: key))
        let standing = Standing(of: stamp, receipts)
        // The event does not have an override yet.
        if standing != Standing(of: stamp) {
            try settle(standing, of: stamp, at: position, transaction)
        }
        return 1
    }

    /// Permanently voids the event at a position; used for events that lost their ids when a fork
    /// was healed.
    mutating func void(
        at position: UInt64, stamp: Stamp, _ transaction: borrowing WriteTransaction
    ) throws {
        var standing = Standing(of: stamp)
        standing.isRefused = true
        try settle(standing, of: stamp, at: position, transaction)
    }

    /// Updates the override of an event to `standing`.
    ///
    /// An existing row is never deleted, even if the effective stamp returns to the event's own
    /// stamp: readers that have folded the row's previous stamp must notice the change.
    mutating func settle(
        _ standing: Standing, of stamp: Stamp, at position: UInt64,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let held = try transaction.get(tables.overrides, integer: position).map { value in
            guard let row = OverrideRow.read(position, value) else {
                throw LogError.damagedRecord(position, "its effective stamp is damaged")
            }
            return row
        }
        guard standing != held.map(Standing.init) ?? Standing(of: stamp) else { return }
        if let held { try transaction.delete(tables.changes, integer: held.change) }
        let change = try lastChange ?? EventLog.lastChange(transaction, tables)
        let row = StampOverride(
            position: position, effectiveStamp: standing.effectiveStamp,
            isRefused: standing.isRefused, change: change + 1)
        try transaction.put(tables.overrides, integer: position, OverrideRow.value(row))
        try transaction.put(tables.changes, integer: row.change, ChangeRow.value(row))
        lastChange = row.change
    }

    /// Writes the counter of changes.
    consuming func finish(_ transaction: borrowing WriteTransaction) throws {
        guard let lastChange else { return }
        var value: [UInt8] = []
        value.appendLittleEndian(lastChange)
        try transaction.setMeta(tables, MetaKey.changes, value)
    }
}

extension Standing {
    init(_ row: StampOverride) {
        self.init(of: row.effectiveStamp)
        isRefused = row.isRefused
    }
}

/// Reads receipts in any transaction.
enum ReceiptReader {
    /// Returns the receipts of an event, ordered by lineage.
    static func receipts(
        of event: EventID, ordinal: UInt32,
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> [Receipt] {
        var found: [Receipt] = []
        try forEach(
            of: event.origin, ordinal: ordinal, event.sequence...event.sequence, transaction, tables
        ) { _, receipt in
            found.append(receipt)
            return true
        }
        return found
    }

    /// Calls `body` with each receipt of a range of an origin's events, in order, until it returns
    /// false.
    ///
    /// Throws `.damaged` for an unreadable receipt, even if only its key is damaged. A row whose
    /// key is damaged keeps its place in the table, so the rows next to the range are checked too.
    static func forEach(
        of origin: OriginID, ordinal: UInt32, _ sequences: ClosedRange<UInt64>,
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables,
        _ body: (Cursor.Entry, Receipt) throws -> Bool
    ) throws {
        let (lower, upper) = (
            ReceiptRow.prefix(ordinal, sequences.lowerBound),
            ReceiptRow.prefix(ordinal, sequences.upperBound)
        )
        let near = EventID(origin: origin, sequence: sequences.lowerBound)
        let cursor = try transaction.cursor(tables.receipts)
        // A row whose key is damaged keeps its place in the table, so also check the rows next to
        // the range; see `forEachPosition`.
        let before = try cursor.lastBelow(lower)
        try check(before, near: near)
        var entry = before == nil ? try cursor.first() : try cursor.next()
        while let row = entry, !upper.lexicographicallyPrecedes(row.key.prefix(upper.count)) {
            guard let receipt = ReceiptRow.read(row.key, row.value, origin: origin) else {
                throw LogError.damagedReceipt(
                    EventID(origin: origin, sequence: ReceiptRow.sequence(row.key) ?? near.sequence)
                )
            }
            guard try body(row, receipt) else { return }
            entry = try cursor.next()
        }
        try check(entry, near: EventID(origin: origin, sequence: sequences.upperBound))
    }

    private static func check(_ entry: Cursor.Entry?, near event: EventID) throws(LogError) {
        guard let entry else { return }
        guard SealedValue.open(entry.value, key: entry.key) != nil else {
            throw LogError.damagedReceipt(event)
        }
    }
}

extension LogError {
    static func damagedReceipt(_ event: EventID) -> LogError {
        LogError(
            .damaged, "a receipt for event \(event) is damaged",
            hint: "storectl verify lists what is damaged; restore a backup")
    }
}
