internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// Events and receipts that came from another store, to be recorded in one transaction.
package struct ForeignEvents: Sendable {
    /// Canonical bytes, each behind its length (4 bytes, little-endian).
    package var events: [UInt8] = []
    package var eventCount: Int { receipts.count }
    /// What the server said of these events, in their order.
    package private(set) var receipts: [Receipt] = []
    /// What was said besides of these events.
    package private(set) var furtherReceipts: [EventID: [Receipt]] = [:]
    /// What a server said of events that are recorded already.
    package var otherReceipts: [Receipt] = []
    /// The names of the first `namedCount` events; all of them once a further receipt was added.
    private var names: Set<EventID> = []
    private var namedCount = 0

    package init() {}

    /// Adds an event, with what the server said of it.
    package mutating func add(
        _ canonical: UnsafeRawBufferPointer, _ receipt: Receipt
    ) {
        events.appendLittleEndian(UInt32(canonical.count))
        events.append(contentsOf: canonical)
        receipts.append(receipt)
    }

    /// Adds a receipt of an event that stands here, or is recorded already.
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

/// What recording foreign events did.
package struct ForeignOutcome: Hashable, Sendable {
    /// Events that were not recorded before.
    package var recorded: UInt64 = 0
    /// Receipts that changed anything.
    package var receipts: UInt64 = 0

    package init() {}
}

extension EventLog {
    /// Records events and receipts from elsewhere, and rows of a sync engine's own, all or none.
    ///
    /// Safe to repeat: what is known already is compared and left alone. The own clock takes in
    /// effective stamps only.
    ///
    /// Throws `LogError`: `.fork` (an event is recorded here with other content), `.gap` (an event does
    /// not follow on its origin's last), `.notFound` (a receipt of an event that is not recorded),
    /// `.damaged` (something is not an event), and what a durable append throws.
    @available(*, noasync)
    package func record(
        _ foreign: ForeignEvents, rows: [SyncRow] = []
    ) throws(LogError) -> ForeignOutcome {
        try EventLog.check(foreign.otherReceipts)
        try refreshState()
        let block = ExportBlock(
            foreign.events, said: foreign.receipts, receipts: foreign.furtherReceipts)
        let group = ImportGroup(log: self, blocks: [block], compared: [:])
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

    /// Records what a server said of events that are recorded here, and rows, all or none.
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

    /// Takes a fresh origin: what is appended from now on is written as that one.
    ///
    /// For a store that turns out to have been put back to an earlier state: its next event would have
    /// the name of one that it has written before and forgotten.
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
    /// Calls `body` with the canonical bytes of an origin's events behind a sequence, in order, until
    /// it returns false; those of a range stub, under the name of its last event, where one covers the next.
    @available(*, noasync)
    package func forEachCanonical(
        of origin: OriginID, after sequence: UInt64,
        _ body: (EventID, UnsafeRawBufferPointer) throws -> Bool
    ) throws(LogError) {
        try refreshState()
        let state = state.withLock { $0 }
        guard let ordinal = state.ordinals[origin] else { return }
        let types = state.types.map { Array($0.name.utf8) }
        let last = state.origins[Int(ordinal)].lastSequence
        try read { transaction in
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
                    throw LogError.damagedRecord(position, "its parts contradict its header")
                }
                let last = EventID(origin: origin, sequence: record.sequence)
                guard try canonical.withUnsafeBytes({ try body(last, $0) }) else { return }
                next = record.sequence + 1
            }
        }
    }

    /// The record of an event; an origin's next event mostly stands behind its last.
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
                .damaged, "event \(id) should be recorded and is not found",
                hint: "storectl verify says what is damaged; restore a backup")
        }
        return try self.record(bytes, at: position)
    }

    /// Receipts in the order of the store's own tables.
    ///
    /// - Parameters:
    ///   - place: where the last call ended; empty for the beginning.
    ///   - limit: at most so many.
    /// - Returns: the receipts, and the place to go on from; nil at the end.
    @available(*, noasync)
    package func receipts(
        after place: [UInt8], limit: Int
    ) throws(LogError) -> (receipts: [Receipt], next: [UInt8]?) {
        try refreshState()
        let origins = state.withLock { $0.origins.map(\.id) }
        return try read { transaction in
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
