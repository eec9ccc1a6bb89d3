internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// Events and receipts from another store, recorded in one transaction.
package struct ForeignEvents: Sendable {
    /// The canonical bytes of the events, each preceded by its length (4 bytes, little-endian).
    package var events: [UInt8] = []
    package var eventCount: Int { receipts.count }
    /// The server's receipts for these events, in the same order.
    package private(set) var receipts: [Receipt] = []
    /// Additional receipts for these events.
    package private(set) var furtherReceipts: [EventID: [Receipt]] = [:]
    /// Receipts for events that are already recorded.
    package var otherReceipts: [Receipt] = []
    /// The ids of the first `namedCount` events; the ids of later events are added when a separate
    /// receipt is added.
    private var names: Set<EventID> = []
    private var namedCount = 0

    package init() {}

    /// Adds an event and the server's receipt for it.
    package mutating func add(
        _ canonical: UnsafeRawBufferPointer, _ receipt: Receipt
    ) {
        events.appendLittleEndian(UInt32(canonical.count))
        events.append(contentsOf: canonical)
        receipts.append(receipt)
    }

    /// Adds a receipt for an event that was added here or is already recorded.
    package mutating func add(_ receipt: Receipt) {
        for other in receipts[namedCount...] { names.insert(other.event) }
        namedCount = receipts.count
        if names.contains(receipt.event) {
            furtherReceipts[receipt.event, default: []].append(receipt)
        } else {
            otherReceipts.append(receipt)
        }
    }
}

/// The result of recording foreign events.
package struct ForeignOutcome: Hashable, Sendable {
    /// The number of events that the log lacked.
    package var recorded: UInt64 = 0
    /// The number of receipts that had an effect.
    package var receipts: UInt64 = 0

    package init() {}
}

extension EventLog {
    /// Records events and receipts from another store, together with the sync engine's rows, in one
    /// transaction.
    ///
    /// Repeating the call is safe, because known events are compared and skipped. Only effective
    /// stamps advance this store's clock.
    ///
    /// Throws `LogError`: `.fork` (an event is recorded here with different content), `.gap` (an
    /// event does not follow the last one of its origin), `.notFound` (a receipt for an event that
    /// is not recorded), `.malformedRequest` (invalid bytes of an event, or an event that occurs
    /// twice), and the same errors as a durable append.
    @available(*, noasync)
    package func record(
        _ foreign: ForeignEvents, rows: [SyncRow] = []
    ) throws(LogError) -> ForeignOutcome {
        try EventLog.check(foreign.otherReceipts)
        try refreshState()
        let block = ExportBlock(
            foreign.events, said: foreign.receipts, receipts: foreign.furtherReceipts)
        let group = ImportGroup(log: self, blocks: [block], compared: [:], isFromServer: true)
        let outcome = try write { transaction in
            var outcome = try group.record(transaction)
            outcome.receipts += try self.add(
                foreign.otherReceipts, in: outcome.state, transaction)
            for row in rows { try transaction.setRow(self.tables, row) }
            return outcome
        }
        adopt(outcome.state)
        if outcome.recorded > 0 || outcome.receipts > 0 { announce() }
        var result = ForeignOutcome()
        result.recorded = outcome.recorded
        result.receipts = outcome.receipts
        return result
    }

    /// Records a server's receipts for recorded events, and the sync engine's rows, in one
    /// transaction.
    @available(*, noasync)
    @discardableResult
    package func record(
        receipts: [Receipt], rows: [SyncRow]
    ) throws(LogError) -> UInt64 {
        try EventLog.check(receipts)
        try refreshState()
        let changed = try write { transaction in
            let changed = try self.add(receipts, transaction)
            for row in rows { try transaction.setRow(self.tables, row) }
            return changed
        }
        if changed > 0 { announce() }
        return changed
    }

    /// Assigns a new origin to this store, under which later events are recorded.
    ///
    /// Use this for a store that was restored to an earlier state. Otherwise, its next event would
    /// get an id that it has already used.
    @available(*, noasync)
    package func renewOrigin() throws(LogError) {
        let origin = options.randomID()
        let after = try write { transaction in
            try StoreIdentity.renew(transaction, self.tables, origin: origin)
            return try LogState(reading: transaction, self.tables)
        }
        adopt(after)
    }
}

extension EventLog {
    /// Calls `body` with the canonical bytes of an origin's events after a sequence number, in
    /// order, until it returns false.
    ///
    /// For compacted events, `body` is called once, with the range stub and the id of its last
    /// event.
    @available(*, noasync)
    package func forEachCanonical(
        of origin: OriginID, after sequence: UInt64,
        _ body: (EventID, UnsafeRawBufferPointer) throws -> Bool
    ) throws(LogError) {
        try refreshState()
        let state = state.withLock { $0 }
        guard let ordinal = state.ordinals[origin] else { return }
        let last = state.origins[Int(ordinal)].lastSequence
        guard sequence < last else { return }
        try readRefreshed { transaction in
            let types = self.names.types.map { Array($0.name.utf8) }
            var canonical: [UInt8] = []
            var position: UInt64 = 0
            var next = sequence + 1
            while next <= last {
                let id = EventID(origin: origin, sequence: next)
                let record = try self.record(
                    of: id, ordinal: ordinal, near: position + 1, state, transaction)
                position = record.position
                canonical.removeAll(keepingCapacity: true)
                guard Int(record.type) < types.count,
                    canonical.appendCanonical(
                        record, origin: origin, type: types[Int(record.type)])
                else {
                    throw LogError.damagedRecord(position, "its contents do not match its header")
                }
                let last = EventID(origin: origin, sequence: record.sequence)
                guard try canonical.withUnsafeBytes({ try body(last, $0) }) else { return }
                next = record.sequence + 1
            }
        }
    }

    /// Returns the record of an event, trying the position `guess` first.
    func record(
        of id: EventID, ordinal: UInt32, near guess: UInt64, _ state: LogState,
        _ transaction: borrowing ReadTransaction
    ) throws -> RecordView {
        if let bytes = try transaction.get(tables.events, integer: guess) {
            let record = try self.record(bytes, at: guess)
            if record.origin == ordinal, record.holds(id.sequence), !state.isForked(record) {
                return record
            }
        }
        guard let position = try self.position(of: id, transaction),
            let bytes = try transaction.get(tables.events, integer: position)
        else {
            throw LogError(
                .damaged, "event \(id) is recorded but cannot be found",
                hint: "storectl verify lists what is damaged; restore a backup")
        }
        return try self.record(bytes, at: position)
    }

    /// Returns receipts in table order.
    ///
    /// - Parameters:
    ///   - place: The place returned by the previous call; empty to start from the beginning.
    ///   - limit: The maximum number of receipts.
    /// - Returns: The receipts and the place to continue from; the place is nil at the end.
    @available(*, noasync)
    package func receipts(
        after place: [UInt8], limit: Int
    ) throws(LogError) -> (receipts: [Receipt], next: [UInt8]?) {
        try readRefreshed { transaction in
            let origins = self.names.origins
            var found: [Receipt] = []
            let cursor = try transaction.cursor(self.tables.receipts)
            var entry = place.isEmpty ? try cursor.first() : try cursor.seek(place + [0])
            while let row = entry {
                guard let event = ReceiptRow.event(row.key), Int(event.origin) < origins.count,
                    let receipt = ReceiptRow.read(
                        row.key, row.value, origin: origins[Int(event.origin)])
                else {
                    throw LogError(
                        .damaged, "a receipt is damaged",
                        hint: "storectl verify lists what is damaged; restore a backup")
                }
                found.append(receipt)
                if found.count >= limit { return (found, Array(row.key)) }
                entry = try cursor.next()
            }
            return (found, nil)
        }
    }
}
