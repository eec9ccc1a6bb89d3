package import TapedeckModel
package import TapedeckSyncProtocol

/// The current state of a space.
package struct SpaceState: Hashable, Sendable {
    package var name: String
    package var lineage: LineageID
    package var head: UInt64 = 0
    /// The time at which the last entry was received.
    package var receivedAt: Stamp = .zero
    /// The digest chain over all entries.
    package var digest = SyncDigest()

    package init(name: String, lineage: LineageID) {
        self.name = name
        self.lineage = lineage
    }
}

/// An entry of a space's log, read in place; valid only during the call that it is passed to.
package struct StoredEntry {
    package var position: UInt64
    package var receivedAt: Stamp
    /// The refusal's code; nil if the entry was accepted.
    package var refusal: String?
    /// The digest chain over all entries up to this one.
    package var digest: SyncDigest
    package var kind: SyncEntryKind
    package var body: UnsafeRawBufferPointer
}

/// The last sequence number and the chain that the server has for an origin.
package struct KnownOrigin: Hashable, Sendable {
    package var origin: OriginID
    package var lastSequence: UInt64
    package var chain: HashChain
}

/// The rows of one space's log, as the sequencing logic uses them (`SpaceRows+Push.swift`,
/// `SpaceRows+Pull.swift`).
///
/// Calls are synchronous, so that they can run within a transaction or in a simulator. The caller
/// commits all changes together or discards them.
package protocol SpaceRows {
    var space: SpaceID { get }
    var state: SpaceState { get set }

    /// Returns the last sequence number of an origin in the log; 0 if there is none.
    mutating func lastSequence(of origin: OriginID) throws -> UInt64
    /// Returns the hash chain of an origin up to its last event.
    mutating func chain(of origin: OriginID) throws -> HashChain
    /// Returns all origins with their last sequence numbers and chains, in byte order.
    func origins() throws -> [KnownOrigin]
    /// Returns the position of an event, or of the range stub that covers it; the event must not be
    /// later than its origin's last event.
    mutating func position(of event: EventID) throws -> UInt64
    /// Returns the position of the last receipt of an event from a lineage; nil if there is none.
    func receiptPosition(of event: EventID, from lineage: LineageID) throws -> UInt64?
    /// Passes the entry at a position to `body`; the entry must exist.
    func withEntry<R>(at position: UInt64, _ body: (StoredEntry) throws -> R) throws -> R
    /// Reads entries in order, from a position to the head, until `body` returns false.
    func walk(from position: UInt64, _ body: (StoredEntry) throws -> Bool) throws

    /// Adds an entry at the head; the caller sets `state`.
    mutating func add(_ entry: StoredEntry) throws
    /// Records the position of an origin's next event, or of a range stub for several events, and
    /// the origin's chain up to it.
    mutating func note(
        _ sequences: ClosedRange<UInt64>, of origin: OriginID, chain: HashChain, at position: UInt64
    ) throws
    /// Records the position of a receipt.
    mutating func note(_ receipt: Receipt, at position: UInt64) throws
}
