package import TapedeckLMDB
@_spi(Core) public import TapedeckModel

/// # Receipts
///
/// 1. A receipt is of a recorded event, durable before the call that records it returns, and never
///    removed. Recording it again changes nothing.
/// 2. The `overrides` table has a row for every event whose standing is not what the event itself
///    says. It follows from the events and receipts alone.
/// 3. Every change of a row gets the next number. The `changes` table leads from the number to the
///    row, so that asking for what is new costs what is new.
extension EventLog {
    /// The most receipts in one call.
    public static let receiptsPerCallMax = 100_000

    /// Records what a server said of events that are in this log, all or none.
    ///
    /// Safe to repeat. Where a server contradicts an earlier receipt of its own, the least is kept.
    ///
    /// - Returns: how many of them changed anything.
    ///
    /// Throws `LogError`: `.notFound` (an event is not recorded here; nothing was done), `.tooLarge`,
    /// and what a durable append throws.
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

    /// Records receipts inside a transaction; says how many changed anything.
    ///
    /// - Parameter state: as of the transaction; nil where that is the same as what is in memory.
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
                    "a receipt is of event \(receipt.event), which is not recorded here",
                    hint: "record the event first")
            }
            let record = try record(at: position, transaction)
            // Of what was compacted the last receipt alone is kept.
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

    /// Where the event stands that receipts of one are kept with; nil for those that were compacted, but the
    /// last of each range.
    func placeOfReceipts(
        of event: EventID, _ state: LogState, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64? {
        guard let position = try position(of: event, in: state, transaction),
            try record(at: position, transaction).sequence == event.sequence
        else { return nil }
        return position
    }

    /// What can be said of receipts before they reach the writer.
    static func check(_ receipts: [Receipt]) throws(LogError) {
        guard receipts.count <= receiptsPerCallMax else {
            throw LogError(
                .tooLarge, "\(receipts.count) receipts at once",
                hint: "record up to \(receiptsPerCallMax) in a call")
        }
        for receipt in receipts {
            guard case .refused(let code) = receipt.outcome else { continue }
            guard (1...Receipt.codeLengthMax).contains(code.rawValue.utf8.count) else {
                throw LogError(
                    .tooLarge,
                    "the refusal of event \(receipt.event) has a code of \(code.rawValue.utf8.count)"
                        + " bytes", hint: "use 1 to \(Receipt.codeLengthMax)")
            }
        }
    }

    /// What servers said of an event, by lineage; none where the event is not recorded.
    @available(*, noasync)
    public func receipts(of event: EventID) throws(LogError) -> [Receipt] {
        try refreshState()
        guard let ordinal = state.withLock({ $0.ordinals[event.origin] }) else { return [] }
        return try read { transaction in
            try ReceiptReader.receipts(of: event, ordinal: ordinal, transaction, self.tables)
        }
    }

    /// Whether a lineage has given a later event of the origin, which a range stub may stand for together with this
    /// one, the position.
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

    /// As of when an event counts, and whether it is refused: what all devices agree on once they have
    /// the same receipts.
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

    /// The overrides that changed behind the change `changedAfter`, in the order of their changes, each
    /// as it is now; and the number of the last change, to ask from next time.
    ///
    /// With a `limit`, `last` is the last change that was returned if there are more.
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
                throw LogError(.damaged, "change \(change) of the stamps that count is damaged")
            }
            rows.append(row)
            entry = try cursor.next()
        }
        return (rows, last)
    }

    /// What counts instead of what the event at a position says itself; nil where that holds.
    package func override(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> StampOverride? {
        guard let value = try transaction.get(tables.overrides, integer: position) else {
            try checkNeighbours(of: position, transaction)
            return nil
        }
        guard let row = OverrideRow.read(position, value) else {
            throw LogError.damagedRecord(position, "the stamp that counts of it is damaged")
        }
        return row
    }

    /// A row whose key is damaged still stands between its neighbours; see `forEachPosition`.
    private func checkNeighbours(
        of position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws {
        let cursor = try transaction.cursor(tables.overrides)
        let next = try cursor.seek(integer: position)
        let before = next == nil ? try cursor.last() : try cursor.previous()
        for entry in [next, before].compactMap({ $0 })
        where SealedValue.open(entry.value, key: entry.key) == nil {
            throw LogError.damagedRecord(position, "the stamp that counts of it may be damaged")
        }
    }

    static func lastChange(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> UInt64 {
        guard let bytes = try transaction.meta(tables, MetaKey.changes) else { return 0 }
        var reader = ByteReader(bytes)
        guard let last = reader.littleEndian(UInt64.self) else {
            throw LogError(.damaged, "the counter of changed stamps is damaged")
        }
        return last
    }
}
