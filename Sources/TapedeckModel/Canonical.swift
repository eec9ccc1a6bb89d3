internal import Crypto

/// The bytes that the hash of an event covers: all parts that are the same in every store.
///
/// Positions, and the numbers that a store assigns to origins and types, are excluded. A sealed
/// payload is hashed in its encrypted form, so a chain can still be verified after the encryption
/// key is erased.
package struct CanonicalEvent {
    private var bytes: [UInt8] = []

    package init() { bytes.reserveCapacity(1_024) }

    /// Encodes the canonical bytes of an event and passes them to `body`.
    package mutating func withBytes<R>(
        of event: ProposedEvent, id: EventID, stamp: Stamp, keyID: [UInt8] = [],
        reissuedFrom: EventID? = nil, _ body: (UnsafeRawBufferPointer) -> R
    ) -> R {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(1)
        append(id)
        bytes.appendLittleEndian(stamp.rawValue)
        bytes.append(event.atMilliseconds == nil ? 0 : 1)
        bytes.appendPrefixed(event.type.name)
        bytes.appendLittleEndian(event.schemaVersion)
        bytes.append(event.retention.rawValue)
        bytes.append(event.encoding.rawValue)
        bytes.appendVarint(UInt64(event.tags.count))
        for tag in event.tags { bytes.appendPrefixed(tag.text) }
        bytes.append(event.fact == nil ? 0 : event.fact?.observedAt == nil ? 1 : 2)
        if let fact = event.fact {
            bytes.appendLittleEndian(fact.version)
            for half in [fact.entity.high, fact.entity.low, fact.content.high, fact.content.low] {
                bytes.appendBigEndian(half)
            }
            if let observedAt = fact.observedAt { bytes.appendLittleEndian(observedAt) }
        }
        for other in [event.causation, event.correlation, reissuedFrom] {
            bytes.append(other == nil ? 0 : 1)
            if let other { append(other) }
        }
        bytes.appendPrefixed(keyID)
        bytes.appendPrefixed(event.payload)
        return bytes.withUnsafeBytes(body)
    }

    private mutating func append(_ id: EventID) {
        bytes.appendBigEndian(id.origin.high)
        bytes.appendBigEndian(id.origin.low)
        bytes.appendLittleEndian(id.sequence)
    }
}

/// The hash chain of one origin: each link covers the previous link and one event.
package struct HashChain: Hashable, Sendable {
    // The chain is stored as four words in memory order, which avoids an allocation per event.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Creates the chain before the first event; it is all zeros.
    package init() {}

    package init?(_ bytes: [UInt8]) {
        guard bytes.count == RecordLayout.chainCount else { return nil }
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
    }

    /// The 32 bytes of the chain.
    package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

    package mutating func add(_ event: UnsafeRawBufferPointer) {
        var sha = SHA256()
        withUnsafeBytes(of: words) { sha.update(bufferPointer: $0) }
        sha.update(bufferPointer: event)
        sha.finalize().withUnsafeBytes { digest in
            withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: digest) }
        }
    }

    package static func == (left: HashChain, right: HashChain) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
