/// The id of one continuous history of a sync server's log.
///
/// A lineage id is created with the server's storage, and replaced if the storage is erased or
/// restored, so that devices notice the loss and upload the lost events.
public struct LineageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// Creates a lineage id from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Generates a new lineage id from the system's random source.
    public static func random() -> LineageID {
        LineageID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }

    /// Parses 32 hexadecimal digits; returns nil for any other string.
    public init?(_ text: some StringProtocol) {
        guard let read = OriginID(text) else { return nil }
        self.init(high: read.high, low: read.low)
    }

    /// The 32 lowercase hexadecimal digits.
    public var description: String { OriginID(high: high, low: low).description }

    /// Compares the bytes; this order breaks ties between receipts.
    public static func < (left: LineageID, right: LineageID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// A sync server's confirmation that it received an event, stored in the log as durably as the
/// event.
///
/// Receipts let devices with different clocks agree on times. The **effective stamp** of an event
/// is the earlier of its own stamp and the time at which a server received it. If an event has
/// several receipts, **only the earliest receipt is used**, also to determine whether the event is
/// refused. Receipts with the same `receivedAt` are ordered by lineage. The result therefore
/// depends only on the set of receipts, not on the order in which they arrive.
public struct Receipt: Hashable, Sendable {
    /// The server's decision about an event.
    public enum Outcome: Hashable, Sendable {
        /// The event has a position and takes effect.
        case accepted
        /// The event has a position but no effect; the code gives the reason.
        case refused(ErrorCode)

        /// Whether the event was refused.
        public var isRefused: Bool { self != .accepted }
    }

    /// The received event.
    public var event: EventID
    /// The lineage of the server.
    public var lineage: LineageID
    /// The event's position on the server, from 1 without gaps in each lineage.
    public var serverPosition: UInt64
    /// The time at which the server received the event; increases with `serverPosition`.
    public var receivedAt: Stamp
    /// The server's decision about the event.
    public var outcome: Outcome

    /// The maximum length of a refusal's code, in UTF-8 bytes.
    public static let codeLengthMax = 64

    /// Creates a receipt from its parts.
    public init(
        event: EventID, lineage: LineageID, serverPosition: UInt64, receivedAt: Stamp,
        outcome: Outcome = .accepted
    ) {
        self.event = event
        self.lineage = lineage
        self.serverPosition = serverPosition
        self.receivedAt = receivedAt
        self.outcome = outcome
    }

    /// Returns whether this receipt takes precedence over another receipt for the same event.
    ///
    /// A lineage should never issue two different receipts for an event. If a server contradicts
    /// itself, the remaining fields determine the precedence, so that every device keeps the same
    /// receipt.
    package func counts(before other: Receipt) -> Bool {
        if receivedAt != other.receivedAt { return receivedAt < other.receivedAt }
        if lineage != other.lineage { return lineage < other.lineage }
        if serverPosition != other.serverPosition { return serverPosition < other.serverPosition }
        switch (outcome, other.outcome) {
        case (.accepted, .refused): return true
        case (.refused(let code), .refused(let otherCode)):
            return code.rawValue.utf8.lexicographicallyPrecedes(otherCode.rawValue.utf8)
        default: return false
        }
    }

    /// Returns the receipt that is used if an event has these receipts; nil if there are none.
    package static func deciding(_ receipts: [Receipt]) -> Receipt? {
        guard let first = receipts.first else { return nil }
        return receipts.dropFirst().reduce(first) { $1.counts(before: $0) ? $1 : $0 }
    }
}

/// The effective stamp and status of an event, which are the same on all devices with the same
/// receipts.
package struct Standing: Hashable, Sendable {
    package var effectiveStamp: Stamp
    package var isRefused: Bool

    /// Determines the effective stamp and status of an event from its own stamp and its receipts.
    package init(of stamp: Stamp, _ receipts: [Receipt] = []) {
        effectiveStamp = stamp
        isRefused = false
        guard let deciding = Receipt.deciding(receipts) else { return }
        effectiveStamp = min(stamp, deciding.receivedAt)
        isRefused = deciding.outcome.isRefused
    }
}
