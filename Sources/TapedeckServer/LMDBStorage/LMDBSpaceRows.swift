internal import TapedeckLMDB
internal import TapedeckModel
internal import TapedeckSyncProtocol

/// A space's rows in an open transaction of `server.mdb`.
///
/// Values that a group of pushes changes repeatedly (the space's state, and each origin's last
/// sequence number and open segment) are cached here; `flush` writes them once, before the commit.
struct LMDBSpaceRows: SpaceRows {
    let space: SpaceID
    var state: SpaceState
    private let stored: SpaceState
    private let tables: ServerTables
    // The caller that opened the transaction discards this value before the transaction ends.
    private let transaction: TransactionAlias
    private var tails: [OriginID: Tail] = [:]

    /// The last event of an origin and the origin's open segment.
    private struct Tail {
        var lastSequence: UInt64
        var chain = HashChain()
        var segment: Segment?
        var isChanged = false
    }

    /// A run of sequence numbers at consecutive positions.
    ///
    /// The entry at the last position of a run may be a range stub that covers all sequence numbers
    /// up to the next segment.
    private struct Segment {
        var firstSequence: UInt64
        var firstPosition: UInt64
        var count: UInt64

        func position(of sequence: UInt64) -> UInt64? {
            guard sequence >= firstSequence, count > 0 else { return nil }
            return firstPosition + min(sequence - firstSequence, count - 1)
        }
    }

    /// Throws `.notFound` if the space does not exist.
    init(_ space: SpaceID, _ tables: ServerTables, _ transaction: TransactionAlias) throws {
        guard let row = try transaction.sealed(tables.spaces, RowKey.space(space), named: "spaces")
        else { throw ServerError.noSpace(space) }
        guard let state = SpaceState(row) else { throw ServerError.damagedRow("spaces", space) }
        self.space = space
        self.state = state
        stored = state
        self.tables = tables
        self.transaction = transaction
    }

    var hasChanged: Bool { state != stored }

    /// Writes the cached values.
    func flush() throws {
        guard hasChanged else { return }
        try transaction.seal(tables.spaces, RowKey.space(space), state.encoded)
        for (origin, tail) in tails where tail.isChanged {
            var last: [UInt8] = []
            last.appendLittleEndian(tail.lastSequence)
            last.append(contentsOf: tail.chain.bytes)
            try transaction.seal(tables.origins, RowKey.origin(space, origin), last)
            if let segment = tail.segment { try write(segment, of: origin) }
        }
    }

    private func write(_ segment: Segment, of origin: OriginID) throws {
        var value: [UInt8] = []
        value.appendLittleEndian(segment.firstPosition)
        value.appendLittleEndian(segment.count)
        let event = EventID(origin: origin, sequence: segment.firstSequence)
        try transaction.seal(tables.segments, RowKey.segment(space, event), value)
    }

    // MARK: - Origins and their segments

    private mutating func tail(of origin: OriginID) throws -> Tail {
        if let known = tails[origin] { return known }
        var tail = Tail(lastSequence: 0)
        if let row = try transaction.sealed(
            tables.origins, RowKey.origin(space, origin), named: "origins")
        {
            var reader = ByteReader(row)
            guard let last = reader.number(),
                let chain = reader.slice(reader.remaining).flatMap({ HashChain(Array($0)) })
            else { throw ServerError.damagedRow("origins", space) }
            tail.lastSequence = last
            tail.chain = chain
            tail.segment = try segment(of: EventID(origin: origin, sequence: last))
        }
        tails[origin] = tail
        return tail
    }

    /// Returns the segment that contains an event.
    private func segment(of event: EventID) throws -> Segment {
        let key = RowKey.segment(
            space, EventID(origin: event.origin, sequence: event.sequence &+ 1))
        let prefix = key.prefix(RowKey.originCount)
        let cursor = try transaction.cursor(tables.segments)
        guard let row = try cursor.lastBelow(key), row.key.count == RowKey.segmentCount,
            row.key.prefix(RowKey.originCount).elementsEqual(prefix),
            let value = SealedValue.open(row.value, key: row.key)
        else { throw ServerError.damagedRow("segments", space) }
        var name = ByteReader(row.key)
        var reader = ByteReader(value)
        guard name.slice(RowKey.originCount) != nil, let first = name.bigEndian(UInt64.self),
            let position = reader.number(), let count = reader.number()
        else { throw ServerError.damagedRow("segments", space) }
        return Segment(firstSequence: first, firstPosition: position, count: count)
    }

    mutating func lastSequence(of origin: OriginID) throws -> UInt64 {
        try tail(of: origin).lastSequence
    }

    mutating func chain(of origin: OriginID) throws -> HashChain { try tail(of: origin).chain }

    mutating func position(of event: EventID) throws -> UInt64 {
        let tail = try tail(of: event.origin)
        if event.sequence <= tail.lastSequence,
            let position = tail.segment?.position(of: event.sequence)
        {
            return position
        }
        guard let position = try segment(of: event).position(of: event.sequence) else {
            throw ServerError.damagedRow("segments", space)
        }
        return position
    }

    mutating func note(
        _ sequences: ClosedRange<UInt64>, of origin: OriginID, chain: HashChain, at position: UInt64
    ) throws {
        var tail = try tail(of: origin)
        tail.lastSequence = sequences.upperBound
        tail.chain = chain
        tail.isChanged = true
        if var segment = tail.segment, segment.firstPosition + segment.count == position,
            segment.firstSequence + segment.count == sequences.lowerBound
        {
            segment.count += 1
            tail.segment = segment
        } else {
            if let segment = tail.segment { try write(segment, of: origin) }
            tail.segment = Segment(
                firstSequence: sequences.lowerBound, firstPosition: position, count: 1)
        }
        tails[origin] = tail
    }

    /// Raises the file's format, so that programs without support for range stubs reject the file.
    private func raiseFormat() throws {
        var row: [UInt8] = []
        row.appendLittleEndian(ServerDirectory.format)
        let held = try transaction.sealed(tables.meta, RowKey.format, named: "meta")
        guard held.map({ !$0.elementsEqual(row) }) ?? true else { return }
        try transaction.seal(tables.meta, RowKey.format, row)
    }

    func origins() throws -> [KnownOrigin] {
        var found: [KnownOrigin] = []
        let prefix = RowKey.space(space)
        let cursor = try transaction.cursor(tables.origins)
        var row = try cursor.seek(prefix)
        while let (key, sealed) = row, key.starts(with: prefix) {
            var name = ByteReader(key)
            guard let value = SealedValue.open(sealed, key: key), name.slice(prefix.count) != nil,
                let high = name.bigEndian(UInt64.self), let low = name.bigEndian(UInt64.self)
            else { throw ServerError.damagedRow("origins", space) }
            var reader = ByteReader(value)
            guard let last = reader.number(),
                let chain = reader.slice(reader.remaining).flatMap({ HashChain(Array($0)) })
            else { throw ServerError.damagedRow("origins", space) }
            found.append(
                KnownOrigin(
                    origin: OriginID(high: high, low: low), lastSequence: last, chain: chain))
            row = try cursor.next()
        }
        return found
    }

    // MARK: - Receipts

    func receiptPosition(of event: EventID, from lineage: LineageID) throws -> UInt64? {
        guard
            let row = try transaction.sealed(
                tables.receipts, RowKey.receipt(space, event, lineage), named: "receipts")
        else { return nil }
        var reader = ByteReader(row)
        return reader.littleEndian(UInt64.self)
    }

    mutating func note(_ receipt: Receipt, at position: UInt64) throws {
        var value: [UInt8] = []
        value.appendLittleEndian(position)
        try transaction.seal(
            tables.receipts, RowKey.receipt(space, receipt.event, receipt.lineage), value)
    }

    // MARK: - Entries

    mutating func add(_ entry: StoredEntry) throws {
        let key = RowKey.entry(space, entry.position)
        var value: [UInt8] = []
        entry.encode(into: &value)
        SealedValue.seal(&value, key: key)
        try transaction.put(tables.entries, key, value)
        if entry.kind == .event, RangeStub.isStub(entry.body) { try raiseFormat() }
    }

    func withEntry<R>(at position: UInt64, _ body: (StoredEntry) throws -> R) throws -> R {
        let key = RowKey.entry(space, position)
        return try key.withUnsafeBytes { key in
            guard let sealed = try transaction.get(tables.entries, key) else {
                throw ServerError.damaged(space, at: position, "it is missing")
            }
            return try body(try entry(at: position, sealed, key))
        }
    }

    func walk(from position: UInt64, _ body: (StoredEntry) throws -> Bool) throws {
        guard position <= state.head else { return }
        let cursor = try transaction.cursor(tables.entries)
        var row = try cursor.seek(RowKey.entry(space, position))
        for next in position...state.head {
            guard let (key, sealed) = row, RowKey.isEntry(key, space, next) else {
                throw ServerError.damaged(space, at: next, "it is missing")
            }
            guard try body(try entry(at: next, sealed, key)) else { return }
            row = try cursor.next()
        }
    }

    private func entry(
        at position: UInt64, _ sealed: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
    ) throws -> StoredEntry {
        guard let value = SealedValue.open(sealed, key: key) else {
            throw ServerError.damaged(space, at: position, "its checksum does not match")
        }
        guard let entry = StoredEntry(at: position, value) else {
            throw ServerError.damaged(space, at: position, "it cannot be decoded")
        }
        return entry
    }
}
