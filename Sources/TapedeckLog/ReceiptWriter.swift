internal import TapedeckLMDB
internal import TapedeckModel

/// Writes receipts inside a write transaction, and the overrides that follow from them.
struct ReceiptWriter: ~Copyable {
    private let tables: LogTables
    /// The number of the last change; nil until the first one of this transaction.
    private var lastChange: UInt64?

    init(_ tables: LogTables) { self.tables = tables }

    /// Records a receipt of the event at `position`; false where nothing changes.
    ///
    /// - Parameters:
    ///   - ordinal: the store's small number of the event's origin.
    ///   - stamp: the event's own stamp.
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

    /// Records receipts of an event that this transaction has recorded, so that there are none of it
    /// yet; says how many changed anything.
    ///
    /// - Parameter cursor: walks the table of receipts in `transaction`.
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
        // Nor is there an override of it.
        if standing != Standing(of: stamp) {
            try settle(standing, of: stamp, at: position, transaction)
        }
        return 1
    }

    /// Makes the event at a position count nowhere, for good: it has lost its name.
    mutating func void(
        at position: UInt64, stamp: Stamp, _ transaction: borrowing WriteTransaction
    ) throws {
        var standing = Standing(of: stamp)
        standing.isRefused = true
        try settle(standing, of: stamp, at: position, transaction)
    }

    /// Makes the override of an event say what its receipts say.
    ///
    /// A row that is there stays, even where it comes to say what the event itself says: whoever
    /// has folded the former row must hear of it.
    mutating func settle(
        _ standing: Standing, of stamp: Stamp, at position: UInt64,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let held = try transaction.get(tables.overrides, integer: position).map { value in
            guard let row = OverrideRow.read(position, value) else {
                throw LogError.damagedRecord(position, "the stamp that counts of it is damaged")
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
    /// What servers said of one event, by lineage.
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

    /// Calls `body` with each receipt of some of an origin's events, in order, until it returns false.
    ///
    /// Throws `.damaged` for one that cannot be read, also where only its key is damaged: a key that lost its end still
    /// lies in the range, and one that lies elsewhere now is most likely a neighbour of it.
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
        // A row whose key is damaged still stands between its neighbours; see `forEachPosition`.
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
            .damaged, "a receipt of event \(event) is damaged",
            hint: "storectl verify lists what is damaged; restore a backup")
    }
}
