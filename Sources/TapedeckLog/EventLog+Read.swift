internal import Foundation
package import TapedeckLMDB
@_spi(Core) public import TapedeckModel

extension EventLog {
    /// The number of records after which a read transaction is renewed, so that it does not pin old
    /// pages for long.
    package static let recordsPerTransactionMax = 65_536

    /// The maximum number of events that one `events` call returns.
    public static let eventsPerReadMax = 10_000

    // MARK: - Records in place

    /// Calls `body` with the record of each event in (`after`, `through`], in order, after checking
    /// its checksum.
    ///
    /// The transaction is renewed every `recordsPerTransactionMax` records; between two
    /// transactions, compaction can remove events. Throws `.damaged` with the position of the first
    /// damaged record.
    @available(*, noasync)
    package func scan(
        after: UInt64, through: UInt64, _ body: (RecordView) throws -> Void
    ) throws(LogError) {
        var position = after
        while position < through {
            let from = position
            let upper = from + min(through - from, UInt64(EventLog.recordsPerTransactionMax))
            let reached = try read { transaction -> UInt64 in
                guard let map = try transaction.leafMap(self.tables.events) else {
                    return try self.scan(transaction, after: from, through: upper, body)
                }
                return try self.scan(transaction, map, after: from, through: upper) { record, _ in
                    try body(record)
                }
            }
            guard reached > position else { return }
            position = reached
        }
    }

    /// Runs `scan` inside a transaction, and returns the last position read.
    @discardableResult
    package func scan(
        _ transaction: borrowing some Readable & ~Copyable, after: UInt64, through: UInt64,
        _ body: (RecordView) throws -> Void
    ) throws -> UInt64 {
        try walk(transaction, after: after, through: through) { record in
            if !record.isStub { try body(record) }
            return true
        }
    }

    /// Calls `body` with each record in (`after`, `through`], including range stubs, until it
    /// returns false.
    ///
    /// Returns the last position read.
    @discardableResult
    func walk(
        _ transaction: borrowing some Readable & ~Copyable, after: UInt64, through: UInt64,
        _ body: (RecordView) throws -> Bool
    ) throws -> UInt64 {
        guard after < through else { return after }
        let cursor = try transaction.cursor(tables.events)
        var position = after
        var entry = try cursor.seek(integer: after + 1)
        while let found = entry {
            let key = found.key.loadUnaligned(as: UInt64.self)
            let record = try self.record(found.value, at: key, checked: key <= through)
            guard key == position + 1 || record.firstPosition <= position + 1 else {
                if key > through { break }
                throw LogError.damagedRecord(position + 1, "it is missing")
            }
            // If a stub begins in the range and ends after it, leave the stub to the next read.
            if key > through { break }
            guard try body(record) else { return key }
            position = key
            if position == through { break }
            entry = try cursor.next()
        }
        return position
    }

    /// Runs `scan` page by page, for reading the entire log; `body` also receives each record's
    /// place.
    @discardableResult
    package func scan(
        _ transaction: borrowing ReadTransaction, _ map: LeafMap, after: UInt64, through: UInt64,
        _ body: (RecordView, Int) throws -> Void
    ) throws -> UInt64 {
        var position = after
        _ = try transaction.walk(tables.events, map, after: after, through: through) { entries in
            let intact = EventLog.intactCount(entries)
            for (index, entry) in entries.enumerated() {
                // All records from the first damaged one on are checked again, to find the exact
                // problem.
                let found = try record(entry.value, at: entry.key, checked: index >= intact)
                guard entry.key == position + 1 || found.firstPosition <= position + 1 else {
                    throw LogError.damagedRecord(position + 1, "it is missing")
                }
                if !found.isStub { try body(found, entry.place) }
                position = entry.key
            }
        }
        return position
    }

    /// Returns the number of leading entries that are records with a matching checksum.
    private static func intactCount(_ entries: UnsafeBufferPointer<LeafEntry>) -> Int {
        var index = 0
        while index < entries.count, entries.count >= 3 {
            // Entries are checked three at a time; the last three may include entries that were
            // already checked.
            let from = min(index, entries.count - 3)
            guard
                RecordView.areIntact(
                    entries[from].value, entries[from + 1].value, entries[from + 2].value) == true
            else { break }
            index = from + 3
        }
        while index < entries.count, RecordView(entries[index].value)?.isIntact == true {
            index += 1
        }
        return index
    }

    /// Decodes and checks the record at a position.
    @inline(__always)
    package func record(
        _ bytes: UnsafeRawBufferPointer, at position: UInt64, checked: Bool = true
    ) throws(LogError) -> RecordView {
        guard let record = RecordView(bytes) else {
            throw LogError.damagedRecord(position, "its \(bytes.count) bytes are not a record")
        }
        guard !checked || record.isIntact else {
            throw LogError.damagedRecord(position, "its checksum does not match")
        }
        guard record.position == position, position <= StoredNumber.max else {
            throw LogError.damagedRecord(position, "it contains position \(record.position)")
        }
        // Every event has its own position and follows all earlier events of its origin, so its
        // sequence number is at most its position. Callers can therefore add to it safely.
        guard record.sequence >= 1, record.sequence <= position else {
            throw LogError.damagedRecord(
                position, "it contains the impossible sequence number \(record.sequence)")
        }
        guard record.isSoundStub else {
            throw LogError.damagedRecord(position, "its range is invalid")
        }
        return record
    }

    /// Returns the record at a position, which must exist.
    func record(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> RecordView {
        try record(at: position, transaction, ifNone: "it is missing")
    }

    /// Returns the record at a position that the index lists.
    func indexedRecord(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> RecordView {
        try record(at: position, transaction, ifNone: "it is in the index but not in the log")
    }

    private func record(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable,
        ifNone damage: String
    ) throws -> RecordView {
        guard let bytes = try transaction.get(tables.events, integer: position) else {
            throw LogError.damagedRecord(position, damage)
        }
        return try record(bytes, at: position)
    }

    // MARK: - Envelopes

    /// Returns the events after a position, in log order.
    ///
    /// - Parameters:
    ///   - after: The last position already seen.
    ///   - limit: The maximum number of events, up to `eventsPerReadMax`.
    ///   - type: The type of the events to return; nil for all types.
    ///   - tag: The tag of the events to return; nil for all events.
    ///
    /// With a type or a tag, the index is used, and the cost depends on the number of matching
    /// events. Otherwise, the log is read.
    @available(*, noasync)
    public func events(
        after: LogPosition, limit: Int = 1_000, type: EventType? = nil, tag: Tag? = nil
    ) throws(LogError) -> [EventEnvelope] {
        settleBuffered()
        let limit = min(max(limit, 0), EventLog.eventsPerReadMax)
        return try readRefreshed { transaction in
            var found: [EventEnvelope] = []
            guard limit > 0 else { return found }
            let term = tag.map { Term(tag: $0) } ?? type.map { Term(type: $0) }
            guard let term else {
                try self.walk(transaction, after: after.rawValue, through: .max - 1) { record in
                    if !record.isStub { found.append(try self.envelope(record)) }
                    return found.count < limit
                }
                return found
            }
            try self.forEachPosition(of: term, transaction, after: after.rawValue) { position in
                let envelope = try self.envelope(self.indexedRecord(at: position, transaction))
                guard tag.map({ envelope.tags.contains($0) }) ?? true,
                    type.map({ envelope.type == $0 }) ?? true
                else { return true }
                found.append(envelope)
                return found.count < limit
            }
            return found
        }
    }

    /// Returns the event with this id; nil if there is none, or if it was compacted
    /// (`compacted(_:)`).
    @available(*, noasync)
    public func event(_ id: EventID) throws(LogError) -> EventEnvelope? {
        settleBuffered()
        return try readRefreshed { transaction in
            guard let position = try self.position(of: id, transaction),
                let bytes = try transaction.get(self.tables.events, integer: position)
            else { return nil }
            let record = try self.record(bytes, at: position)
            return record.isStub ? nil : try self.envelope(record)
        }
    }

    /// Returns the event at a position; nil if there is none, or if it was compacted
    /// (`compacted(at:)`).
    @available(*, noasync)
    public func event(at position: LogPosition) throws(LogError) -> EventEnvelope? {
        settleBuffered()
        return try readRefreshed { transaction in
            guard
                let record = try self.record(standingFor: position.rawValue, transaction),
                !record.isStub
            else { return nil }
            return try self.envelope(record)
        }
    }

    /// Returns `position`, or the position of the range stub that covers `position`.
    ///
    /// A reader that has reached `position` has read the entire record that contains `position`.
    package func endOfRecord(
        at position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64 {
        try record(standingFor: position, transaction)?.position ?? position
    }

    /// Returns the record at a position, or the range stub that covers it; nil if the position is
    /// beyond the log.
    func record(
        standingFor position: UInt64, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> RecordView? {
        guard position >= 1,
            let found = try transaction.cursor(tables.events).seek(integer: position)
        else { return nil }
        let record = try self.record(found.value, at: found.key.loadUnaligned(as: UInt64.self))
        guard record.firstPosition <= position else {
            throw LogError.damagedRecord(position, "it is missing")
        }
        return record
    }

    /// Copies a record into an envelope.
    package func envelope(_ record: RecordView) throws -> EventEnvelope {
        let (origin, type) = try names(of: record)
        guard let blocks = record.blocks else {
            throw LogError.damagedRecord(record.position, "its contents do not match its header")
        }
        var tags: [Tag] = []
        record.forEachTag { tags.append(Tag(unchecked: String(decoding: $0, as: UTF8.self))) }
        return EventEnvelope(
            id: EventID(origin: origin, sequence: record.sequence),
            position: LogPosition(rawValue: record.position), stamp: record.stamp, type: type,
            schemaVersion: record.schemaVersion, tags: tags, fact: blocks.fact,
            causation: blocks.causation, correlation: blocks.correlation,
            reissuedFrom: blocks.reissuedFrom, retention: record.retention,
            encoding: record.encoding, keyID: blocks.keyID, payload: Array(record.payload))
    }

    private func names(of record: RecordView) throws -> (OriginID, EventType) {
        try state.withLock { state in
            guard Int(record.origin) < state.origins.count, Int(record.type) < state.types.count
            else {
                throw LogError.damagedRecord(
                    record.position,
                    "its origin \(record.origin) or type \(record.type) is unknown")
            }
            return (state.origins[Int(record.origin)].id, state.types[Int(record.type)])
        }
    }

    /// Returns the origins and types of this log, indexed by number.
    package func dictionaries() throws(LogError) -> (origins: [OriginID], types: [EventType]) {
        try readRefreshed { _ in self.names }
    }

    /// The origins and types in memory, indexed by number.
    ///
    /// Inside `readRefreshed`, these are the names of every record in the transaction.
    var names: (origins: [OriginID], types: [EventType]) {
        state.withLock { ($0.origins.map(\.id), $0.types) }
    }

    /// Returns the known origins, each with the sequence number of its last event.
    public func origins() throws(LogError) -> [(origin: OriginID, lastSequence: UInt64)] {
        try refreshState()
        return state.withLock { $0.origins.map { ($0.id, $0.lastSequence) } }
    }

    // MARK: - Look-up

    /// Returns whether an observation of a remote entity is recorded up to a position.
    ///
    /// The cost is one lookup.
    @available(*, noasync)
    package func isSeen(_ entity: Digest16, through position: LogPosition) throws(LogError) -> Bool
    {
        try firstSeen(entity).map { $0.position <= position } ?? false
    }

    /// Returns the position and the stamp of the first recorded observation of a remote entity; nil
    /// if there is none.
    ///
    /// The cost is one lookup.
    @available(*, noasync)
    package func firstSeen(
        _ entity: Digest16
    ) throws(LogError) -> (position: LogPosition, stamp: Stamp)? {
        try readRefreshed { transaction in
            var first: (position: LogPosition, stamp: Stamp)?
            try self.forEachPosition(of: Term(entity: entity), transaction, after: 0) { found in
                if let bytes = try transaction.get(self.tables.events, integer: found) {
                    let record = try self.record(bytes, at: found)
                    if record.fact?.entity == entity {
                        first = (LogPosition(rawValue: found), record.stamp)
                    }
                }
                return first == nil
            }
            return first
        }
    }

    /// Returns the position of an event or of the range stub that covers it; nil if the event is
    /// not recorded.
    package func position(
        of id: EventID, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64? {
        guard let ordinal = state.withLock({ $0.ordinals[id.origin] }),
            let bytes = try transaction.meta(tables, MetaKey.origin(ordinal)),
            let row = OriginRow(decoding: bytes), id.sequence >= 1,
            id.sequence <= row.lastSequence
        else { return nil }
        return try position(of: id.sequence, ordinal, row, transaction)
    }

    /// Returns the position of an event, or of its range stub, in the given state of the log; nil
    /// if the event is not recorded.
    func position(
        of id: EventID, in state: LogState, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64? {
        guard let ordinal = state.ordinals[id.origin] else { return nil }
        let row = state.origins[Int(ordinal)]
        guard id.sequence >= 1, id.sequence <= row.lastSequence else { return nil }
        return try position(of: id.sequence, ordinal, row, transaction)
    }

    /// Returns the position of an origin's event; `sequence` must not exceed the last sequence
    /// number in `row`.
    func position(
        of sequence: UInt64, _ ordinal: UInt32, _ row: OriginRow,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> UInt64 {
        let id = EventID(origin: row.id, sequence: sequence)
        var segment = row.segment
        // An origin whose history was truncated has no open segment.
        if segment.firstSequence == 0 || sequence < segment.firstSequence {
            let cursor = try transaction.cursor(tables.meta)
            guard let entry = try cursor.lastBelow(MetaKey.segment(ordinal, sequence + 1)),
                entry.key.starts(with: MetaKey.segments(ordinal)), entry.key.count == 13
            else { throw LogError.misplaced(id) }
            var key = ByteReader(UnsafeRawBufferPointer(rebasing: entry.key[5...]))
            guard let opened = SealedValue.open(entry.value, key: entry.key) else {
                throw LogError.damagedRow(Array(entry.key))
            }
            var value = ByteReader(opened)
            guard let first = key.bigEndian(UInt64.self),
                let read = Segment(&value, firstSequence: first)
            else { throw LogError.misplaced(id) }
            segment = read
        }
        // Check the record's id as well, because a damaged row could lead to another event.
        let cursor = try transaction.cursor(tables.events)
        let start =
            segment.firstPosition &+ (segment.isDense ? sequence &- segment.firstSequence : 0)
        var entry = try cursor.seek(integer: start)
        for _ in 0..<(segment.isDense ? 1 : Segment.spreadMax) {
            guard let found = entry, let record = RecordView(found.value) else { break }
            if record.origin == ordinal, record.holds(sequence) {
                return found.key.loadUnaligned(as: UInt64.self)
            }
            entry = try cursor.next()
        }
        throw LogError.misplaced(id)
    }

    /// Calls `body` with the positions of a term after `after`, in ascending order, until it
    /// returns false.
    ///
    /// Searches every run of the index, and then the tail. Different terms can have the same hash,
    /// so `body` must check the event.
    func forEachPosition(
        of term: Term, _ transaction: borrowing some Readable & ~Copyable, after: UInt64,
        _ body: (UInt64) throws -> Bool
    ) throws {
        guard
            let indexed = try forEachIndexedPosition(of: term, transaction, after: after, body)
        else { return }
        let head = try lastPosition(transaction)
        let lower = max(after, indexed)
        guard head > lower else { return }
        let positions = try tail.positions(
            of: term, lower: lower, head: head, in: self, transaction,
            typeTerms: try typeTerms(transaction))
        for position in positions where try !body(position) { return }
    }

    /// Like `forEachPosition`, but without the tail.
    ///
    /// Returns the position after which the tail begins; nil if `body` has returned false.
    func forEachIndexedPosition(
        of term: Term, _ transaction: borrowing some Readable & ~Copyable, after: UInt64,
        _ body: (UInt64) throws -> Bool
    ) throws -> UInt64? {
        let catalogue = try IndexCatalogue(
            decoding: try transaction.meta(tables, MetaKey.runs))
        let cursor = try transaction.cursor(tables.index)
        for run in catalogue.runs where run.upper > after {
            // The entries right before and after the term's entries are also checked, because one
            // of them may belong to the term but have a damaged key.
            let before = try cursor.lastBelow(IndexEntry.key(run: run.number, term: term.hash))
            try IndexEntry.check(before)
            var entry = before == nil ? try cursor.first() : try cursor.next()
            while let found = entry, let read = IndexEntry.read(found.key),
                read.run == run.number, read.term == term.hash
            {
                var positions: [UInt64] = []
                try IndexEntry.forEachPosition(found) { if $0 > after { positions.append($0) } }
                for position in positions where try !body(position) { return nil }
                entry = try cursor.next()
            }
            try IndexEntry.check(entry)
        }
        guard catalogue.indexed <= (try lastPosition(transaction)) else {
            throw IndexCatalogue.damaged
        }
        return catalogue.indexed
    }

    /// Returns a `Term` for each event type that the transaction can see, indexed by type number.
    ///
    /// The state in memory may lack a type that another process has just recorded.
    func typeTerms(_ transaction: borrowing some Readable & ~Copyable) throws -> [Term] {
        var terms = state.withLock { $0.types.map { Term(type: $0) } }
        while terms.count < UInt16.max,
            let row = try transaction.meta(tables, MetaKey.type(UInt16(terms.count)))
        {
            terms.append(Term(type: EventType(stringLiteral: String(decoding: row, as: UTF8.self))))
        }
        return terms
    }
}

extension EventLog {
    /// The table of records, with the position as an integer key.
    package var recordTable: Table { tables.events }

    /// Calls `body` with every record of a type, up to a position, in log order.
    package func forEachRecord(
        of type: EventType, through: UInt64, _ transaction: borrowing some Readable & ~Copyable,
        _ body: (RecordView) throws -> Void
    ) throws {
        try forEachRecord(of: Term(type: type), through: through, transaction) { record in
            if try names(of: record).1 == type { try body(record) }
        }
    }

    /// Calls `body` with every record that has a tag, up to a position, in log order.
    package func forEachRecord(
        tagged tag: Tag, through: UInt64, _ transaction: borrowing some Readable & ~Copyable,
        _ body: (RecordView) throws -> Void
    ) throws {
        try forEachRecord(of: Term(tag: tag), through: through, transaction) { record in
            if record.hasTag(tag) { try body(record) }
        }
    }

    /// Calls `body` with every record that the index lists under a term, which may include records
    /// of other terms with the same hash.
    private func forEachRecord(
        of term: Term, through: UInt64, _ transaction: borrowing some Readable & ~Copyable,
        _ body: (RecordView) throws -> Void
    ) throws {
        try forEachPosition(of: term, transaction, after: 0) { position in
            guard position <= through else { return false }
            try body(try indexedRecord(at: position, transaction))
            return true
        }
    }
}
