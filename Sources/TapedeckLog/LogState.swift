internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// What an open log keeps in memory: small, and as of one head.
struct LogState {
    var head: UInt64 = 0
    var origins: [OriginRow] = []
    var ordinals: [OriginID: UInt32] = [:]
    /// The hash chains that are known, by their origins' small numbers.
    private var chains: [HashChain?] = []
    var types: [EventType] = []
    var typeOrdinals: [EventType: UInt16] = [:]
    /// Histories of origins that lost to others; mostly none.
    var forks: [Fork] = []
    /// Origins of which events were written anew; mostly none.
    var reissuedOrigins: Set<OriginID> = []
    /// The number of the write transaction that left it so; 0 where it was read.
    var transaction = 0
    /// Which origin is this store's own.
    var own: UInt32 = 0

    var ownRow: OriginRow { origins[Int(own)] }

    /// Reads everything from the tables.
    ///
    /// - Parameter head: where it is not what the origins' rows say: in the middle of a change.
    init(
        reading transaction: borrowing some Readable & ~Copyable, _ tables: LogTables,
        head knownHead: UInt64? = nil
    ) throws {
        while let row = try transaction.meta(tables, MetaKey.origin(UInt32(origins.count))) {
            guard let origin = OriginRow(decoding: row) else {
                throw LogError(
                    .damaged, "origin \(origins.count) in the log's meta table is damaged")
            }
            ordinals[origin.id] = UInt32(origins.count)
            origins.append(origin)
        }
        while let row = try transaction.meta(tables, MetaKey.type(UInt16(types.count))) {
            let type = EventType(stringLiteral: String(decoding: row, as: UTF8.self))
            typeOrdinals[type] = UInt16(types.count)
            types.append(type)
        }
        forks = try Fork.all(transaction, tables)
        reissuedOrigins = try Reissue.origins(transaction, tables)
        head = knownHead ?? origins.map(\.lastPosition).max() ?? 0
        let own = try StoreIdentity.origin(transaction, tables)
        guard let ordinal = ordinals[own] else {
            throw LogError(.damaged, "the log does not know its own origin \(own)")
        }
        self.own = ordinal
        // A second opinion: the rows and the events were written by the same transactions.
        let last = try transaction.cursor(tables.events).last()?.key.loadUnaligned(as: UInt64.self)
        guard last ?? 0 == head else {
            throw LogError(
                .damaged, "the log's origins end at position \(head), its events at \(last ?? 0)",
                hint: "restore a backup, or import an export into a new store")
        }
    }

    /// The chain of an origin as of its last event, read from that event's record.
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

    /// The chain of an origin as of its last event; nil where it was neither read nor set.
    func knownChain(of origin: UInt32) -> HashChain? {
        Int(origin) < chains.count ? chains[Int(origin)] : nil
    }

    mutating func setChain(_ chain: HashChain, of origin: UInt32) {
        while chains.count <= Int(origin) { chains.append(nil) }
        chains[Int(origin)] = chain
    }

    mutating func forgetChains() { chains.removeAll() }

    /// Appends the canonical bytes of a record; false where it contradicts itself or names what is unknown.
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
                // A range stub covers it, or it is missing; then the chain is not found.
                position -= 1
                continue
            }
            guard let record = RecordView(bytes), record.isIntact, let blocks = record.blocks
            else { throw LogError.damagedRecord(position, "it should be an event of \(row.id)") }
            guard record.origin == origin, record.sequence == sequence else {
                position -= 1
                continue
            }
            if var chain = HashChain(blocks.chain) {
                for canonical in passed.reversed() { canonical.withUnsafeBytes { chain.add($0) } }
                return chain
            }
            // Every commit ends in a mark; only a history that was cut off in the middle of one does not.
            guard forks.contains(where: { $0.origin == origin }), Int(record.type) < types.count
            else { break }
            var canonical: [UInt8] = []
            guard appendCanonical(record, to: &canonical) else {
                throw LogError.damagedRecord(position, "its parts contradict its header")
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
            row.lastPosition, "it should end a commit of \(row.id) and hold the chain's hash")
    }
}
