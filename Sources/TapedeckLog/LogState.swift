internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// A snapshot of an open log's metadata, kept in memory.
struct LogState {
    var head: UInt64 = 0
    var origins: [OriginRow] = []
    var ordinals: [OriginID: UInt32] = [:]
    /// The known hash chains, indexed by the origins' numbers.
    private var chains: [HashChain?] = []
    var types: [EventType] = []
    var typeOrdinals: [EventType: UInt16] = [:]
    /// The voided histories of origins; usually none.
    var forks: [Fork] = []
    /// The origins with reissued events; usually none.
    var reissuedOrigins: Set<OriginID> = []
    /// The number of the last commit that this state is known to describe; 0 if it is unknown.
    var transaction = 0
    /// The number of this store's own origin.
    var own: UInt32 = 0

    var ownRow: OriginRow { origins[Int(own)] }

    /// Reads the state from the tables.
    ///
    /// - Parameter head: The head; pass it during a change, when the origins' rows do not contain
    ///   it yet.
    init(
        reading transaction: borrowing some Readable & ~Copyable, _ tables: LogTables,
        head knownHead: UInt64? = nil
    ) throws {
        while let row = try transaction.meta(tables, MetaKey.origin(UInt32(origins.count))) {
            guard let origin = OriginRow(decoding: row) else {
                throw LogError.damagedRow(MetaKey.origin(UInt32(origins.count)))
            }
            ordinals[origin.id] = UInt32(origins.count)
            origins.append(origin)
        }
        while types.count < UInt16.max,
            let row = try transaction.meta(tables, MetaKey.type(UInt16(types.count)))
        {
            let type = EventType(stringLiteral: String(decoding: row, as: UTF8.self))
            typeOrdinals[type] = UInt16(types.count)
            types.append(type)
        }
        forks = try Fork.all(transaction, tables)
        reissuedOrigins = try Reissue.origins(transaction, tables)
        head = knownHead ?? origins.map(\.lastPosition).max() ?? 0
        let own = try StoreIdentity.origin(transaction, tables)
        guard let ordinal = ordinals[own] else {
            throw LogError(.damaged, "the log's own origin \(own) is unknown")
        }
        self.own = ordinal
        // The rows and the events are written in the same transactions, so they can be checked
        // against each other.
        let last = try transaction.cursor(tables.events).last()?.key.loadUnaligned(as: UInt64.self)
        guard last ?? 0 == head else {
            throw LogError(
                .damaged,
                "according to the log's metadata, the log ends at position \(head), but its last "
                    + "event is at \(last ?? 0)",
                hint: "restore a backup, or import an export into a new store")
        }
    }

    /// Returns whether this state describes the log as a transaction sees it.
    ///
    /// An unchanged head is not sufficient, because another process may have added an origin, or
    /// the event type `RangeCompacted`, without changing the head.
    func isCurrent(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables, head: UInt64
    ) throws -> Bool {
        try head == self.head
            && transaction.meta(tables, MetaKey.origin(UInt32(origins.count))) == nil
            && transaction.meta(tables, MetaKey.type(UInt16(types.count))) == nil
    }

    /// Returns whether this state contains every event, origin and type of an earlier or equal
    /// state of the same history.
    func knowsAll(of other: LogState) -> Bool {
        head >= other.head && origins.count >= other.origins.count
            && types.count >= other.types.count
    }

    /// Returns the chain of an origin up to its last event, read from that event's record.
    mutating func chain(
        of origin: UInt32, _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> HashChain {
        if let known = knownChain(of: origin) { return known }
        let row = origins[Int(origin)]
        guard row.lastSequence > 0 else { return HashChain() }
        let chain = try readChain(of: origin, row, transaction, tables)
        setChain(chain, of: origin)
        return chain
    }

    /// Returns the chain of an origin up to its last event; nil if the chain is not in memory.
    func knownChain(of origin: UInt32) -> HashChain? {
        Int(origin) < chains.count ? chains[Int(origin)] : nil
    }

    mutating func setChain(_ chain: HashChain, of origin: UInt32) {
        while chains.count <= Int(origin) { chains.append(nil) }
        chains[Int(origin)] = chain
    }

    mutating func forgetChains() { chains.removeAll() }

    /// Returns the id of a record's event; throws `.damaged` if the origin is unknown.
    func id(of record: RecordView) throws(LogError) -> EventID {
        guard Int(record.origin) < origins.count else {
            throw LogError.damagedRecord(
                record.position, "its origin \(record.origin) is unknown")
        }
        return EventID(origin: origins[Int(record.origin)].id, sequence: record.sequence)
    }

    /// Appends the canonical bytes of a record; returns false if it is inconsistent or has an
    /// unknown origin or type.
    func appendCanonical(_ record: RecordView, to bytes: inout [UInt8]) -> Bool {
        guard Int(record.type) < types.count, Int(record.origin) < origins.count else {
            return false
        }
        return bytes.appendCanonical(
            record, origin: origins[Int(record.origin)].id,
            type: Array(types[Int(record.type)].name.utf8))
    }

    private func readChain(
        of origin: UInt32, _ row: OriginRow, _ transaction: borrowing some Readable & ~Copyable,
        _ tables: LogTables
    ) throws -> HashChain {
        var passed: [[UInt8]] = []
        var position = row.lastPosition
        var sequence = row.lastSequence
        while sequence > 0, position > 0 {
            guard let bytes = try transaction.get(tables.events, integer: position) else {
                // The position has no record: a range stub covers it, or the record is missing. If
                // the record is missing, the search ends without a chain.
                position -= 1
                continue
            }
            guard let record = RecordView(bytes), record.isIntact, let blocks = record.blocks
            else { throw LogError.damagedRecord(position, "it is not an event of \(row.id)") }
            guard record.origin == origin, record.sequence == sequence else {
                position -= 1
                continue
            }
            if var chain = HashChain(blocks.chain) {
                for canonical in passed.reversed() { canonical.withUnsafeBytes { chain.add($0) } }
                return chain
            }
            // Every commit ends with a record that contains the chain, except in a history that was
            // truncated in the middle of a commit.
            guard forks.contains(where: { $0.origin == origin }), Int(record.type) < types.count
            else { break }
            var canonical: [UInt8] = []
            guard appendCanonical(record, to: &canonical) else {
                throw LogError.damagedRecord(position, "its contents do not match its header")
            }
            passed.append(canonical)
            position -= 1
            sequence -= 1
        }
        if sequence == 0 {
            var chain = HashChain()
            for canonical in passed.reversed() { canonical.withUnsafeBytes { chain.add($0) } }
            return chain
        }
        throw LogError.damagedRecord(
            row.lastPosition, "it should contain the hash chain of \(row.id), but does not")
    }
}
