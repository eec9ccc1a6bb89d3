package import TapedeckLMDB
@_spi(Core) public import TapedeckModel

/// # Receipts
///
/// 1. A receipt belongs to a recorded event, is durable before the call that records it returns,
///    and is kept unless its event is compacted. Recording a receipt again changes nothing.
/// 2. The `overrides` table has a row for every event that was refused, or whose effective stamp
///    differs from the event's own stamp. The row depends only on events and receipts.
/// 3. Changes to these rows are numbered consecutively. The `changes` table maps each number to its
///    row, so that the cost of a query for changes depends only on the number of changes.
extension EventLog {
    /// The maximum number of receipts in one call.
    public static let receiptsPerCallMax = 100_000

    /// Records all or none of a server's receipts for events in this log.
    ///
    /// Repeating the call is safe. If a server contradicts its own earlier receipt, the contents of
    /// the two receipts determine which is kept, so all devices keep the same receipt.
    ///
    /// - Returns: The number of receipts that this call recorded or replaced.
    ///
    /// Throws `LogError`: `.notFound` (an event is not in this log, and no receipt was recorded),
    /// `.tooLarge`, and the same errors as a durable append.
    @available(*, noasync)
    @discardableResult
    public func recordReceipts(_ receipts: [Receipt]) throws(LogError) -> Int {
        try EventLog.check(receipts)
        guard !receipts.isEmpty else { return 0 }
        try refreshState()
        let changed = try write { transaction in
            try self.add(receipts, transaction)
        }
        if changed > 0 { announce() }
        return Int(changed)
    }

    /// Records receipts inside a transaction, and returns the number that had an effect.
    ///
    /// - Parameter state: The log's state in the transaction; nil if it equals the state in memory.
    func add(
        _ receipts: [Receipt], in state: LogState? = nil, _ transaction: borrowing WriteTransaction
    ) throws -> UInt64 {
        var writer = ReceiptWriter(tables)
        var reissued: Set<EventID> = []
        var changed: UInt64 = 0
        for receipt in receipts {
            guard
                let position = try state.map({
                    try position(of: receipt.event, in: $0, transaction)
                }) ?? position(of: receipt.event, transaction)
            else {
                throw LogError(
                    .notFound,
                    "a receipt refers to event \(receipt.event), which is not recorded here",
                    hint: "record the event first")
            }
            let record = try record(at: position, transaction)
            // Only the receipts of the last event of a compacted range are kept.
            guard record.sequence == receipt.event.sequence else { continue }
            if record.flags.contains(.reissued), let source = record.blocks?.reissuedFrom {
                reissued.insert(source)
            }
            if try writer.add(
                receipt, ordinal: record.origin, position: position, stamp: record.stamp,
                transaction)
            {
                changed += 1
            }
        }
        try writer.finish(transaction)
        if !reissued.isEmpty {
            try settle(reissuesOf: reissued, state ?? self.state(in: transaction), transaction)
        }
        return changed
    }

    /// Returns the position of an event that can have receipts; nil if the event was compacted and
    /// is not the last event of its range.
    func placeOfReceipts(
        of event: EventID, _ state: LogState, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64? {
        guard let position = try position(of: event, in: state, transaction),
            try record(at: position, transaction).sequence == event.sequence
        else { return nil }
        return position
    }

    /// Validates receipts before they reach the writer.
    static func check(_ receipts: [Receipt]) throws(LogError) {
        guard receipts.count <= receiptsPerCallMax else {
            throw LogError(
                .tooLarge, "cannot record \(receipts.count) receipts at once",
                hint: "record at most \(receiptsPerCallMax) per call")
        }
        for receipt in receipts {
            guard receipt.serverPosition <= StoredNumber.max else {
                throw LogError(
                    .tooLarge,
                    "the receipt of event \(receipt.event) has the server position"
                        + " \(receipt.serverPosition)",
                    hint: "server positions are at most \(StoredNumber.max)")
            }
            guard case .refused(let code) = receipt.outcome else { continue }
            guard (1...Receipt.codeLengthMax).contains(code.rawValue.utf8.count) else {
                throw LogError(
                    .tooLarge,
                    "the refusal code of event \(receipt.event) is \(code.rawValue.utf8.count)"
                        + " bytes long", hint: "use a code of 1 to \(Receipt.codeLengthMax) bytes")
            }
        }
    }

    /// Returns the receipts of an event, ordered by lineage; empty if the event is not recorded.
    @available(*, noasync)
    public func receipts(of event: EventID) throws(LogError) -> [Receipt] {
        try refreshState()
        guard let ordinal = state.withLock({ $0.ordinals[event.origin] }) else { return [] }
        return try read { transaction in
            try ReceiptReader.receipts(of: event, ordinal: ordinal, transaction, self.tables)
        }
    }

    /// Returns whether this event, or a later event that the same range stub may cover, has a
    /// receipt from `lineage` with the server position `position`.
    @available(*, noasync)
    package func isCovered(
        _ event: EventID, _ lineage: LineageID, by position: UInt64
    ) throws(LogError) -> Bool {
        try refreshState()
        guard let ordinal = state.withLock({ $0.ordinals[event.origin] }) else { return false }
        return try read { transaction in
            var isCovered = false
            let last = event.sequence.addingReportingOverflow(RangeStub.countMax - 1)
            try ReceiptReader.forEach(
                of: event.origin, ordinal: ordinal,
                event.sequence...(last.overflow ? .max : last.partialValue), transaction,
                self.tables
            ) { _, receipt in
                isCovered = receipt.lineage == lineage && receipt.serverPosition == position
                return !isCovered
            }
            return isCovered
        }
    }

    /// Returns the effective stamp of an event, and whether the event is refused.
    ///
    /// Devices with the same receipts return the same values.
    @available(*, noasync)
    public func standing(
        of event: EventEnvelope
    ) throws(LogError) -> (effectiveStamp: Stamp, isRefused: Bool) {
        try read { transaction in
            let row = try self.override(at: event.position.rawValue, transaction)
            return (row?.effectiveStamp ?? event.stamp, row?.isRefused ?? false)
        }
    }

    // MARK: - Overrides

    /// Returns the overrides changed after `changedAfter`, with their current values, in the order
    /// of their changes.
    ///
    /// The next call continues after `last`, which is the number of the last change or, if `limit`
    /// was reached first, of the last returned change.
    package func overrides(
        _ transaction: borrowing some Readable & ~Copyable, changedAfter: UInt64, limit: Int = .max
    ) throws -> (rows: [StampOverride], last: UInt64) {
        var rows: [StampOverride] = []
        let last = try EventLog.lastChange(transaction, tables)
        guard changedAfter < last else { return (rows, last) }
        let cursor = try transaction.cursor(tables.changes)
        var entry = try cursor.seek(integer: changedAfter + 1)
        while let found = entry {
            if rows.count == limit { return (rows, rows.last?.change ?? changedAfter) }
            let change = found.key.loadUnaligned(as: UInt64.self)
            guard let position = ChangeRow.read(change, found.value),
                let row = try override(at: position, transaction), row.change == change
            else {
                throw LogError(.damaged, "change \(change) of the effective stamps is damaged")
            }
            rows.append(row)
            entry = try cursor.next()
        }
        return (rows, last)
    }

    /// Returns the override of the event at a position; nil if the event's own stamp applies.
    package func override(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> StampOverride? {
        guard let value = try transaction.get(tables.overrides, integer: position) else {
            try checkNeighbours(of: position, transaction)
            return nil
        }
        guard let row = OverrideRow.read(position, value) else {
            throw LogError.damagedRecord(position, "its effective stamp is damaged")
        }
        return row
    }

    /// Checks the rows around a position, because a row with a damaged key is still between its
    /// neighbours.
    private func checkNeighbours(
        of position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let cursor = try transaction.cursor(tables.overrides)
        let next = try cursor.seek(integer: position)
        let before = next == nil ? try cursor.last() : try cursor.previous()
        for entry in [next, before].compactMap({ $0 })
        where SealedValue.open(entry.value, key: entry.key) == nil {
            throw LogError.damagedRecord(position, "its effective stamp may be damaged")
        }
    }

    static func lastChange(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> UInt64 {
        guard let bytes = try transaction.meta(tables, MetaKey.changes) else { return 0 }
        var reader = ByteReader(bytes)
        guard let last = reader.number() else {
            throw LogError(.damaged, "the counter of effective stamp changes is damaged")
        }
        return last
    }
}
