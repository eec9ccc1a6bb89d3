package import TapedeckModel
package import TapedeckSyncProtocol

/// What is known of a space as a whole.
package struct SpaceState: Hashable, Sendable {
    package var name: String
    package var lineage: LineageID
    package var head: UInt64 = 0
    /// When the last entry was received.
    package var receivedAt: Stamp = .zero
    /// The chain over all entries.
    package var digest = SyncDigest()

    package init(name: String, lineage: LineageID) {
        self.name = name
        self.lineage = lineage
    }
}

/// An entry of a space's log, in place; good for the call that it is handed to.
package struct StoredEntry {
    package var position: UInt64
    package var receivedAt: Stamp
    /// The code with which it was refused.
    package var refusal: String?
    /// The chain over all entries up to this one.
    package var digest: SyncDigest
    package var kind: SyncEntryKind
    package var body: UnsafeRawBufferPointer
}

/// What a space knows of an origin.
package struct KnownOrigin: Hashable, Sendable {
    package var origin: OriginID
    package var lastSequence: UInt64
    package var chain: HashChain
}

/// The rows of one space's log, as the sequencing logic sees them (`SpaceRows+Push.swift` and its
/// neighbours): synchronous, so that a transaction can be around it, and a simulator.
///
/// Whoever changes rows makes the changes count together, or not at all.
package protocol SpaceRows {
    var space: SpaceID { get }
    var state: SpaceState { get set }

    /// The last sequence of an origin that has a position; 0 where none has.
    mutating func lastSequence(of origin: OriginID) throws -> UInt64
    /// The hash chain of an origin as of its last sequence.
    mutating func chain(of origin: OriginID) throws -> HashChain
    /// Every origin with its last sequence and its chain, in byte order.
    func origins() throws -> [KnownOrigin]
    /// Where an event stands whose sequence is not above its origin's last, or the range stub for it.
    mutating func position(of event: EventID) throws -> UInt64
    /// Where the last receipt of an event from a lineage stands; nil where there is none.
    func receiptPosition(of event: EventID, from lineage: LineageID) throws -> UInt64?
    /// Reads an entry that must be there.
    func withEntry<R>(at position: UInt64, _ body: (StoredEntry) throws -> R) throws -> R
    /// Reads entries in order from a position to the head, until `body` says false.
    func walk(from position: UInt64, _ body: (StoredEntry) throws -> Bool) throws

    /// Adds the entry behind the head; the caller has set `state`.
    mutating func add(_ entry: StoredEntry) throws
    /// Notes that what stands at a position is what comes next of an origin: an event, or a range stub for
    /// several sequences; and the origin's chain as of it.
    mutating func note(
        _ sequences: ClosedRange<UInt64>, of origin: OriginID, chain: HashChain, at position: UInt64
    ) throws
    /// Notes that a receipt stands at a position.
    mutating func note(_ receipt: Receipt, at position: UInt64) throws
}
