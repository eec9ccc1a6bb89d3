internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

extension Verification {
    /// The number of receipts or overrides to read per transaction.
    private static let rowsPerTransactionMax = 16_384

    mutating func checkReceipts() throws(LogError) {
        var from: [UInt8]? = []
        while let start = from { from = try step { try $0.checkReceipts(from: start, $1) } }
        var next: UInt64? = 0
        while let start = next { next = try step { try $0.checkOverrides(from: start, $1) } }
    }

    private mutating func step<R>(
        _ body: (inout Verification, borrowing ReadTransaction) throws -> R
    ) throws(LogError) -> R {
        let from = self
        // The rows include rows that other processes have recorded since the check began.
        let (current, result) = try log.readRefreshed { transaction in
            var current = from
            let result = try body(&current, transaction)
            return (current, result)
        }
        self = current
        return result
    }

    // MARK: - Receipts

    /// Checks receipts starting at a key, and returns the key to continue from.
    private mutating func checkReceipts(
        from start: [UInt8], _ transaction: borrowing ReadTransaction
    ) throws -> [UInt8]? {
        let origins = log.names.origins
        let cursor = try transaction.cursor(log.tables.receipts)
        var entry = start.isEmpty ? try cursor.first() : try cursor.seek(start)
        var event: (origin: UInt32, sequence: UInt64)?
        var gathered: [Receipt] = []
        var count = 0
        while let found = entry {
            let next = ReceiptRow.event(found.key)
            if next?.origin != event?.origin || next?.sequence != event?.sequence {
                try check(gathered, ordinal: event?.origin, transaction)
                gathered.removeAll()
                if count >= Verification.rowsPerTransactionMax { return Array(found.key) }
            }
            event = next
            count += 1
            report.receipts += 1
            guard let next, Int(next.origin) < origins.count,
                let receipt = ReceiptRow.read(
                    found.key, found.value, origin: origins[Int(next.origin)])
            else {
                report.add(.receipt, key: Array(found.key).hex, "the receipt is damaged")
                entry = try cursor.next()
                continue
            }
            gathered.append(receipt)
            entry = try cursor.next()
        }
        try check(gathered, ordinal: event?.origin, transaction)
        return nil
    }

    /// Checks that the override of an event matches its receipts.
    private mutating func check(
        _ receipts: [Receipt], ordinal: UInt32?, _ transaction: borrowing ReadTransaction
    ) throws {
        guard let event = receipts.first?.event else { return }
        guard let position = try? log.position(of: event, transaction),
            let bytes = try transaction.get(log.tables.events, integer: position),
            let record = RecordView(bytes), record.isIntact
        else {
            return report.add(
                .receipt, key: event.description, "it has a receipt, but is missing or damaged")
        }
        // The status of a reissued event does not depend on its receipts alone; see `checkReissue`.
        guard !record.flags.contains(.reissued) else { return }
        guard try heldStanding(of: record, transaction) != Standing(of: record.stamp, receipts)
        else { return }
        report.add(
            .override, position: position, key: event.description,
            "its override does not match its receipts")
    }

    private func heldStanding(
        of record: RecordView, _ transaction: borrowing ReadTransaction
    ) throws -> Standing {
        let row = try transaction.get(log.tables.overrides, integer: record.position)
            .flatMap { OverrideRow.read(record.position, $0) }
        return row.map(Standing.init) ?? Standing(of: record.stamp)
    }

    // MARK: - Reissued events

    /// Checks that a reissued event can be found by its original id and that its status is correct.
    mutating func checkReissue(
        _ record: RecordView, _ transaction: borrowing ReadTransaction
    ) throws {
        let content = try log.content(of: record, state)
        guard let source = record.blocks?.reissuedFrom else { return }
        let rows = try Reissue.all(of: source, transaction, log.tables)
        guard rows.contains(Reissue(of: source, at: record.position, content: content)) else {
            return report.add(
                .origin, position: record.position, key: source.description,
                "it was reissued, but cannot be found by its original id")
        }
        let held = try heldStanding(of: record, transaction)
        guard try log.standing(of: record, state, transaction) != held else { return }
        // Events recorded since the check began may have changed the status.
        let current = try LogState(reading: transaction, log.tables)
        guard try log.standing(of: record, current, transaction) != held else { return }
        report.add(
            .override, position: record.position, key: source.description,
            "it was reissued, but its override is wrong")
    }

    // MARK: - Overrides

    /// Checks overrides starting at a position, and returns the position to continue from.
    private mutating func checkOverrides(
        from start: UInt64, _ transaction: borrowing ReadTransaction
    ) throws -> UInt64? {
        let last = try EventLog.lastChange(transaction, log.tables)
        let cursor = try transaction.cursor(log.tables.overrides)
        var entry = try cursor.seek(integer: start)
        var count = 0
        while let found = entry {
            let position = found.key.loadUnaligned(as: UInt64.self)
            if count >= Verification.rowsPerTransactionMax { return position }
            count += 1
            report.overrides += 1
            if let row = OverrideRow.read(position, found.value) {
                try check(row, lastChange: last, transaction)
            } else {
                report.add(.override, position: position, "its override is damaged")
            }
            entry = try cursor.next()
        }
        let changes = try transaction.count(log.tables.changes)
        let rows = try transaction.count(log.tables.overrides)
        if changes != rows {
            report.add(.override, "there are \(rows) overrides, but \(changes) changes")
        }
        return nil
    }

    private mutating func check(
        _ row: StampOverride, lastChange: UInt64, _ transaction: borrowing ReadTransaction
    ) throws {
        let change = try transaction.get(log.tables.changes, integer: row.change)
            .flatMap { ChangeRow.read(row.change, $0) }
        if change != row.position || row.change > lastChange {
            report.add(
                .override, position: row.position,
                "its change \(row.change) belongs to another event")
        }
        guard let bytes = try transaction.get(log.tables.events, integer: row.position),
            let record = RecordView(bytes), record.isIntact,
            Int(record.origin) < state.origins.count
        else {
            // A damaged event was already reported; an event recorded since the check began is not
            // checked.
            return
        }
        if state.isForked(record) {
            if !row.isRefused {
                report.add(.override, position: row.position, "it was voided, but is not refused")
            }
            return
        }
        guard !record.flags.contains(.reissued) else { return }
        let event = EventID(
            origin: state.origins[Int(record.origin)].id, sequence: record.sequence)
        let cursor = try transaction.cursor(log.tables.receipts)
        let prefix = ReceiptRow.prefix(record.origin, record.sequence)
        guard try cursor.seek(prefix)?.key.starts(with: prefix) != true else { return }
        report.add(
            .override, position: row.position, key: event.description,
            "it has an override, but no receipt")
    }
}
