internal import TapedeckLMDB
internal import TapedeckModel

/// Writes records at the end of the log inside a write transaction, along with their rows in
/// `meta`.
struct RecordWriter: ~Copyable {
    private(set) var state: LogState
    private let tables: LogTables
    private var buffer: [UInt8] = []
    private var canonical = CanonicalEvent()
    /// The origins whose rows have to be written: the last one in `lastTouched`, and any earlier
    /// ones in `touched`.
    private var lastTouched: UInt32?
    private var touched: Set<UInt32> = []
    /// The names that were passed as bytes and the numbers of their types, keyed by the hash of the
    /// name.
    private var types: [UInt64: (name: [UInt8], ordinal: UInt16)] = [:]
    /// The original events that have or may have reissues; the status of these reissues is
    /// determined after the last event.
    private(set) var reissued: Set<EventID> = []

    init(_ tables: LogTables, _ state: LogState) {
        self.state = state
        self.tables = tables
        buffer.reserveCapacity(4_096)
    }

    /// Writes an event as the next event of its origin.
    ///
    /// - Parameters:
    ///   - endsCommit: Whether this is the last event of its origin in the transaction; if true,
    ///     its record includes the hash chain.
    ///   - cursor: A cursor on the table of events in `transaction`.
    mutating func add(
        _ event: ProposedEvent, keyID: [UInt8] = [], reissuedFrom: EventID? = nil, origin: UInt32,
        stamp: Stamp, endsCommit: Bool, _ transaction: borrowing WriteTransaction,
        _ cursor: borrowing Cursor
    ) throws {
        let type = try typeOrdinal(event.type, transaction)
        let position = state.head + 1
        let row = state.origins[Int(origin)]
        let sequence = row.lastSequence + 1

        var chain = try state.chain(of: origin, transaction, tables)
        let content = canonical.withBytes(
            of: event, id: EventID(origin: row.id, sequence: sequence), stamp: stamp, keyID: keyID,
            reissuedFrom: reissuedFrom
        ) { bytes in
            chain.add(bytes)
            return reissuedFrom == nil ? nil : try? CanonicalView(bytes).content
        }
        state.setChain(chain, of: origin)
        try note(
            EventID(origin: row.id, sequence: sequence), at: position, of: reissuedFrom,
            content: content, transaction)

        buffer.removeAll(keepingCapacity: true)
        buffer.appendRecord(
            event, keyID: keyID, reissuedFrom: reissuedFrom,
            as: RecordIdentity(
                position: position, stamp: stamp, sequence: sequence, origin: origin, type: type),
            chain: endsCommit ? chain.bytes : [])
        try cursor.append(integer: position, buffer)
        try advance(origin, sequence: sequence, position: position, transaction)
    }

    /// Writes a foreign event, given as canonical bytes, as the next event of its origin.
    mutating func add(
        _ event: CanonicalView, origin: UInt32, endsCommit: Bool,
        _ transaction: borrowing WriteTransaction, _ cursor: borrowing Cursor
    ) throws {
        let type = try typeOrdinal(
            UnsafeRawBufferPointer(rebasing: event.bytes[event.type]), transaction)
        let position = state.head + 1
        var chain = try state.chain(of: origin, transaction, tables)
        chain.add(event.bytes)
        state.setChain(chain, of: origin)
        let source = event.source
        try note(
            event.id, at: position, of: source, content: source == nil ? nil : event.content,
            transaction)

        buffer.removeAll(keepingCapacity: true)
        buffer.appendRecord(
            event,
            as: RecordIdentity(
                position: position, stamp: event.stamp, sequence: event.id.sequence, origin: origin,
                type: type),
            chain: endsCommit ? chain : nil)
        try cursor.append(integer: position, buffer)
        try advance(origin, sequence: event.id.sequence, position: position, transaction)
    }

    /// Writes a range stub, or the part of it that is not recorded yet, as the next record of its
    /// origin.
    ///
    /// Throws `LogError` with `.fork` if the stub is from another history.
    mutating func add(
        _ stub: RangeStub, origin: UInt32, _ transaction: borrowing WriteTransaction,
        _ cursor: borrowing Cursor
    ) throws {
        let type = try typeOrdinal(.rangeCompacted, transaction)
        let chain = try state.chain(of: origin, transaction, tables)
        let last = state.origins[Int(origin)].lastSequence
        guard stub.sequences.lowerBound <= last || stub.before == chain else {
            throw LogError.forked(before: stub)
        }
        guard let rest = stub.rest(behind: last, chain) else { return }
        state.setChain(rest.after, of: origin)
        buffer.removeAll(keepingCapacity: true)
        buffer.appendRecord(
            rest,
            as: RecordIdentity(
                position: state.head + rest.count, stamp: rest.stamp,
                sequence: rest.sequences.upperBound, origin: origin, type: type))
        try cursor.append(integer: state.head + rest.count, buffer)
        for sequence in rest.sequences {
            try advance(origin, sequence: sequence, position: state.head + 1, transaction)
        }
    }

    /// Keeps track of an event that is a reissue or may have reissues.
    private mutating func note(
        _ event: EventID, at position: UInt64, of source: EventID?, content: Digest16?,
        _ transaction: borrowing WriteTransaction
    ) throws {
        if let source, let content {
            let reissue = Reissue(of: source, at: position, content: content)
            try transaction.setMeta(tables, reissue.key, reissue.value)
            state.reissuedOrigins.insert(source.origin)
            reissued.insert(source)
        } else if !state.reissuedOrigins.isEmpty, state.reissuedOrigins.contains(event.origin) {
            reissued.insert(event)
        }
    }

    /// Updates the row of an origin for the event just written.
    private mutating func advance(
        _ origin: UInt32, sequence: UInt64, position: UInt64,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let row = state.origins[Int(origin)]
        var segment = row.segment
        if !segment.extend(sequence: sequence, position: position, after: row.lastPosition) {
            if segment.firstSequence > 0 {
                try transaction.setMeta(
                    tables, MetaKey.segment(origin, segment.firstSequence), segment.encoded())
            }
            segment = Segment(firstSequence: sequence, firstPosition: position)
        }
        state.origins[Int(origin)].segment = segment
        state.origins[Int(origin)].lastSequence = sequence
        state.origins[Int(origin)].lastPosition = position
        state.head = position
        touch(origin)
    }

    /// Returns the log's number for an origin, assigned when the origin is first seen.
    mutating func ordinal(
        of origin: OriginID, _ transaction: borrowing WriteTransaction
    ) throws -> UInt32 {
        if let known = state.ordinals[origin] { return known }
        let ordinal = UInt32(state.origins.count)
        let row = OriginRow(id: origin)
        state.origins.append(row)
        state.ordinals[origin] = ordinal
        try transaction.setMeta(tables, MetaKey.origin(ordinal), row.encoded())
        return ordinal
    }

    /// Sets the store's clock, which is written with its origin's row.
    mutating func setClock(_ stamp: Stamp) {
        state.origins[Int(state.own)].clock = max(stamp, state.ownRow.clock)
        touch(state.own)
    }

    private mutating func touch(_ origin: UInt32) {
        guard origin != lastTouched else { return }
        if let lastTouched { touched.insert(lastTouched) }
        lastTouched = origin
    }

    /// Writes the rows of the changed origins, and returns the state after this transaction.
    consuming func finish(_ transaction: borrowing WriteTransaction) throws -> LogState {
        // Keep the transaction number, because LMDB does not count a transaction in which nothing
        // was written.
        guard let lastTouched else { return state }
        for origin in touched where origin != lastTouched { try write(origin, transaction) }
        try write(lastTouched, transaction)
        state.transaction = transaction.number
        return state
    }

    private func write(
        _ origin: UInt32, _ transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        try transaction.setMeta(
            tables, MetaKey.origin(origin), state.origins[Int(origin)].encoded())
    }

    private mutating func typeOrdinal(
        _ name: UnsafeRawBufferPointer, _ transaction: borrowing WriteTransaction
    ) throws -> UInt16 {
        let hash = stableHash(name)
        if let known = types[hash], known.name.withUnsafeBytes({ $0.holdsSame(as: name) }) {
            return known.ordinal
        }
        let ordinal = try typeOrdinal(
            EventType(stringLiteral: String(decoding: name, as: UTF8.self)), transaction)
        types[hash] = (Array(name), ordinal)
        return ordinal
    }

    /// Returns the log's number for a type, assigned when the type is first seen.
    mutating func typeOrdinal(
        _ type: EventType, _ transaction: borrowing WriteTransaction
    ) throws -> UInt16 {
        if let known = state.typeOrdinals[type] { return known }
        guard state.types.count < Int(UInt16.max) else {
            throw LogError(.tooLarge, "the log has reached its limit of \(UInt16.max) event types")
        }
        let ordinal = UInt16(state.types.count)
        try transaction.setMeta(tables, MetaKey.type(ordinal), Array(type.name.utf8))
        state.types.append(type)
        state.typeOrdinals[type] = ordinal
        return ordinal
    }
}
