/// One life of a sync server: made with the server's storage, and anew when that is wiped or
/// restored, so that devices notice and seed it again.
public struct LineageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// Makes a lineage of two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a fresh lineage from the system's random source.
    public static func random() -> LineageID {
        LineageID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }

    /// Reads 32 hexadecimal digits; anything else gives nil.
    public init?(_ text: some StringProtocol) {
        guard let read = OriginID(text) else { return nil }
        self.init(high: read.high, low: read.low)
    }

    /// The 32 lower-case hexadecimal digits.
    public var description: String { OriginID(high: high, low: low).description }

    /// Byte order, which breaks ties between receipts.
    public static func < (left: LineageID, right: LineageID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// What a sync server said of an event: log state, as durable as the event itself.
///
/// Receipts are what devices with different clocks agree on. The **effective stamp** of an event is
/// its own stamp, or the time at which a server received it if that is less; an event is refused
/// where the receipt that counts refuses it. Of several receipts **the least counts**: by
/// `receivedAt`, then by lineage. So the outcome depends on which receipts there are and not on the
/// order in which they came.
public struct Receipt: Hashable, Sendable {
    /// What a server did with an event.
    public enum Outcome: Hashable, Sendable {
        /// It was given its place.
        case accepted
        /// It was given its place and counts nowhere; the code says why.
        case refused(ErrorCode)

        /// Whether the event counts nowhere.
        public var isRefused: Bool { self != .accepted }
    }

    /// The event concerned.
    public var event: EventID
    /// Which server, and in which of its lives.
    public var lineage: LineageID
    /// The place that the server gave the event; dense from 1 in a lineage.
    public var serverPosition: UInt64
    /// When the server received it; rises with `serverPosition`.
    public var receivedAt: Stamp
    /// What the server did with it.
    public var outcome: Outcome

    /// The longest code of a refusal in UTF-8 bytes.
    public static let codeLengthMax = 64

    /// Makes a receipt of its parts.
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

    /// Which of two receipts of one event counts.
    ///
    /// Those of one lineage should never differ; where a server contradicts itself, the rest of the
    /// parts decides, so that every device keeps the same.
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
}

/// What all devices that have the same receipts agree on of one event.
package struct Standing: Hashable, Sendable {
    package var effectiveStamp: Stamp
    package var isRefused: Bool

    /// Of an event without receipts, or with those given.
    package init(of stamp: Stamp, _ receipts: [Receipt] = []) {
        effectiveStamp = stamp
        isRefused = false
        guard let first = receipts.first else { return }
        let least = receipts.dropFirst().reduce(first) { $1.counts(before: $0) ? $1 : $0 }
        effectiveStamp = min(stamp, least.receivedAt)
        isRefused = least.outcome.isRefused
    }
}
