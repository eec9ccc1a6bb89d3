internal import TapedeckModel
internal import TapedeckSyncProtocol

/// A space's log in memory; this is a value type, so a copy is a backup.
struct InMemorySpace: SpaceRows, Sendable {
    let space: SpaceID
    var state: SpaceState
    private var entries: [Entry] = []
    /// The positions of each origin's events, in order of sequence numbers, which start at 1.
    private var positions: [OriginID: [UInt64]] = [:]
    private var chains: [OriginID: HashChain] = [:]
    private var receipts: [ReceiptName: UInt64] = [:]

    private struct Entry {
        var receivedAt: Stamp
        var refusal: String?
        var digest: SyncDigest
        var kind: SyncEntryKind
        var body: [UInt8]
    }

    private struct ReceiptName: Hashable {
        var event: EventID
        var lineage: LineageID
    }

    init(_ space: SpaceID, _ state: SpaceState) {
        self.space = space
        self.state = state
    }

    func lastSequence(of origin: OriginID) -> UInt64 { UInt64(positions[origin]?.count ?? 0) }

    func chain(of origin: OriginID) -> HashChain { chains[origin] ?? HashChain() }

    func origins() -> [KnownOrigin] {
        positions.map {
            KnownOrigin(
                origin: $0.key, lastSequence: UInt64($0.value.count), chain: chain(of: $0.key))
        }.sorted { $0.origin < $1.origin }
    }

    func position(of event: EventID) throws -> UInt64 {
        guard let known = positions[event.origin],
            (1...UInt64(known.count)).contains(event.sequence)
        else { throw ServerError.damagedRow("segments", space) }
        return known[Int(event.sequence) - 1]
    }

    func receiptPosition(of event: EventID, from lineage: LineageID) -> UInt64? {
        receipts[ReceiptName(event: event, lineage: lineage)]
    }

    func withEntry<R>(at position: UInt64, _ body: (StoredEntry) throws -> R) throws -> R {
        guard (1...UInt64(max(1, entries.count))).contains(position), !entries.isEmpty else {
            throw ServerError.damaged(space, at: position, "it is missing")
        }
        let entry = entries[Int(position) - 1]
        return try entry.body.withUnsafeBytes { bytes in
            try body(
                StoredEntry(
                    position: position, receivedAt: entry.receivedAt, refusal: entry.refusal,
                    digest: entry.digest, kind: entry.kind, body: bytes))
        }
    }

    func walk(from position: UInt64, _ body: (StoredEntry) throws -> Bool) throws {
        var next = position
        while next <= state.head, try withEntry(at: next, body) { next += 1 }
    }

    mutating func add(_ entry: StoredEntry) {
        entries.append(
            Entry(
                receivedAt: entry.receivedAt, refusal: entry.refusal, digest: entry.digest,
                kind: entry.kind, body: Array(entry.body)))
    }

    mutating func note(
        _ sequences: ClosedRange<UInt64>, of origin: OriginID, chain: HashChain, at position: UInt64
    ) {
        chains[origin] = chain
        for _ in sequences { positions[origin, default: []].append(position) }
    }

    mutating func note(_ receipt: Receipt, at position: UInt64) {
        receipts[ReceiptName(event: receipt.event, lineage: receipt.lineage)] = position
    }
}
