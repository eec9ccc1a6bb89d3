internal import Crypto

/// The remote fact that an event observes: an entity, its version, its content, and the time of
/// observation.
///
/// Observations are folded in the order (version, observedAt, content), never by stamp. The result
/// therefore depends only on the facts, not on the time or order in which they were ingested.
public struct ObservedFact: Hashable, Sendable {
    /// The digest that identifies the remote entity.
    public let entity: Digest16
    /// The digest of the observed content.
    public let content: Digest16
    /// The version that the remote assigns, such as the Unix time of the last update; 0 if there is
    /// none.
    public let version: UInt64
    /// The time of the response, in Unix milliseconds; nil if unknown.
    public let observedAt: Int64?

    /// Creates a fact.
    ///
    /// - Parameters:
    ///   - entity: The permanent name of the remote entity, such as `tvmaze/show/118`.
    ///   - content: The canonical bytes of the observed content, without volatile fields.
    ///   - version: The version that the remote assigns; 0 if there is none.
    ///   - observedAt: The time of the response, in Unix milliseconds; nil if unknown.
    public init(entity: String, content: [UInt8], version: UInt64, observedAt: Int64?) {
        self.init(
            entity: Digest16(hashing: Array(entity.utf8)), content: Digest16(hashing: content),
            version: version, observedAt: observedAt)
    }

    package init(entity: Digest16, content: Digest16, version: UInt64, observedAt: Int64?) {
        self.entity = entity
        self.content = content
        self.version = version
        self.observedAt = observedAt
    }

    /// The place of this observation in the fold order of its key: by version, time, then content.
    ///
    /// A key may have observations of several entities. The entity is mixed into the last word, so
    /// that two entities with the same content have different places. If two origins record the
    /// same observation, the two events have the same place.
    @inlinable
    public var order: FoldOrder {
        FoldOrder(
            version, UInt64(bitPattern: observedAt ?? .min) ^ (1 << 63), content.high,
            content.low ^ entity.low)
    }
}

/// The first 16 bytes of a SHA-256 digest.
public struct Digest16: Hashable, Comparable, Sendable {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(hashing bytes: [UInt8]) {
        (high, low) = SHA256.hash(data: bytes).withUnsafeBytes { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// Compares the bytes.
    public static func < (left: Digest16, right: Digest16) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// The place of an event in the canonical order of its key.
///
/// Observations come first, ordered by (version, observedAt, content, entity). Activity follows,
/// ordered by (effective stamp, origin, sequence number). The order is total and the same on every
/// device.
public struct FoldOrder: Hashable, Comparable, Sendable {
    /// 0 for observations, 1 for activity.
    public let rank: UInt8
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
    @usableFromInline let third: UInt64
    @usableFromInline let fourth: UInt64

    /// Creates the place of an observation; see `ObservedFact.order`.
    @inlinable
    init(_ version: UInt64, _ observedAt: UInt64, _ high: UInt64, _ low: UInt64) {
        rank = 0
        first = version
        second = observedAt
        third = high
        fourth = low
    }

    /// Returns true for about one in `count` places; the result depends only on the place.
    package func isOne(of count: UInt64) -> Bool {
        (((first ^ fourth) &* 0x9E37_79B9_7F4A_7C15) >> 32) % count == 0
    }

    /// Creates the place of an activity.
    @inlinable
    public init(stamp: Stamp, id: EventID) {
        rank = 1
        first = stamp.rawValue
        second = id.origin.high
        third = id.origin.low
        fourth = id.sequence
    }

    private init(rank: UInt8, _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64)
    {
        self.rank = rank
        self.first = first
        self.second = second
        self.third = third
        self.fourth = fourth
    }

    /// The time in the stamp of an activity, in milliseconds since 1970; nil for an observation.
    package var stampMilliseconds: UInt64? { rank == 0 ? nil : activityMilliseconds }

    /// The time in the stamp of this place, which must be the place of an activity.
    package var activityMilliseconds: UInt64 { Stamp(rawValue: first).milliseconds }

    /// The remote version in this place, which must be the place of an observation.
    package var observedVersion: UInt64 { first }

    /// The place before every event.
    public static let start = FoldOrder(rank: 0, 0, 0, 0, 0)

    /// Compares the rank, then each part.
    @inlinable
    public static func < (left: FoldOrder, right: FoldOrder) -> Bool {
        left.precedes(right)
    }

    /// Returns whether all parts are equal.
    @inlinable
    public static func == (left: FoldOrder, right: FoldOrder) -> Bool {
        left.rank == right.rank && left.first == right.first && left.second == right.second
            && left.third == right.third && left.fourth == right.fourth
    }

    @inlinable
    func precedes(_ other: FoldOrder) -> Bool {
        if rank != other.rank { return rank < other.rank }
        if first != other.first { return first < other.first }
        if second != other.second { return second < other.second }
        if third != other.third { return third < other.third }
        return fourth < other.fourth
    }

    /// The size of an encoded place, in bytes.
    ///
    /// The encoding is the rank, then four big-endian words, so encoded places sort in fold order.
    package static let encodedCount = 33

    package func append(to bytes: inout [UInt8]) {
        // Appending all bytes at once is faster than appending each part, which matters because
        // folds write a place with nearly every item.
        withUnsafeTemporaryAllocation(byteCount: FoldOrder.encodedCount, alignment: 1) { buffer in
            buffer[0] = rank
            buffer.storeBytes(of: first.bigEndian, toByteOffset: 1, as: UInt64.self)
            buffer.storeBytes(of: second.bigEndian, toByteOffset: 9, as: UInt64.self)
            buffer.storeBytes(of: third.bigEndian, toByteOffset: 17, as: UInt64.self)
            buffer.storeBytes(of: fourth.bigEndian, toByteOffset: 25, as: UInt64.self)
            bytes.append(contentsOf: buffer)
        }
    }

    package init(decoding bytes: UnsafeRawBufferPointer) {
        func word(_ offset: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        self.init(rank: bytes[0], word(1), word(9), word(17), word(25))
    }
}
