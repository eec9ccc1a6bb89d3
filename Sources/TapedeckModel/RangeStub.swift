/// The replacement for adjacent events of one origin that compaction removed.
///
/// A stub keeps the ids of the removed events and the origin's hash chain before and after them. In
/// exports and messages, the canonical bytes of a stub replace those of the events;
/// `schema/storage/v1.md` specifies the format. The id of a stub is the id of the last removed
/// event.
package struct RangeStub: Hashable, Sendable {
    package let origin: OriginID
    /// The sequence numbers of the replaced events.
    package let sequences: ClosedRange<UInt64>
    /// The stamp of the last replaced event.
    package let stamp: Stamp
    /// The origin's hash chain before the first replaced event.
    package let before: HashChain
    /// The origin's hash chain after the last replaced event.
    package let after: HashChain

    /// The maximum number of events that one stub can replace.
    package static let countMax: UInt64 = 1_024
    package static let version: UInt8 = 2
    private static let byteCount = 105

    /// Creates a stub; throws if `sequences` is invalid or too long.
    package init(
        origin: OriginID, sequences: ClosedRange<UInt64>, stamp: Stamp, before: HashChain,
        after: HashChain
    ) throws(CanonicalProblem) {
        guard RangeStub.isSound(first: sequences.lowerBound, last: sequences.upperBound) else {
            throw CanonicalProblem(what: "its range stub covers too many events")
        }
        self.origin = origin
        self.sequences = sequences
        self.stamp = stamp
        self.before = before
        self.after = after
    }

    package static func isSound(first: UInt64, last: UInt64) -> Bool {
        first >= 1 && first <= last && last - first < countMax
    }

    /// The id of the last replaced event.
    package var id: EventID { EventID(origin: origin, sequence: sequences.upperBound) }

    package var count: UInt64 { sequences.upperBound - sequences.lowerBound + 1 }

    /// Returns a stub for the replaced events after `sequence`, or nil if there are none.
    ///
    /// - Parameter chain: The origin's hash chain up to and including `sequence`.
    package func rest(behind sequence: UInt64, _ chain: HashChain) -> RangeStub? {
        guard sequence < sequences.upperBound else { return nil }
        return try? RangeStub(
            origin: origin,
            sequences: max(sequence + 1, sequences.lowerBound)...sequences.upperBound,
            stamp: stamp, before: chain, after: after)
    }

    // MARK: - Canonical bytes

    /// Returns whether canonical bytes encode a range stub.
    @inline(__always)
    package static func isStub(_ canonical: UnsafeRawBufferPointer) -> Bool {
        canonical.first == version
    }

    /// Decodes canonical bytes; throws if they are invalid.
    package init(_ canonical: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        var reader = ByteReader(canonical)
        guard canonical.count == RangeStub.byteCount, RangeStub.isStub(canonical),
            reader.littleEndian(UInt8.self) != nil, let id = reader.eventID(),
            let stamp = reader.littleEndian(UInt64.self),
            let first = reader.littleEndian(UInt64.self),
            RangeStub.isSound(first: first, last: id.sequence), let before = reader.hashChain(),
            let after = reader.hashChain()
        else { throw CanonicalProblem(what: "it is not a valid range stub") }
        try self.init(
            origin: id.origin, sequences: first...id.sequence, stamp: Stamp(rawValue: stamp),
            before: before, after: after)
    }

    package var canonical: [UInt8] {
        var bytes = [RangeStub.version]
        bytes.append(id)
        bytes.appendLittleEndian(stamp.rawValue)
        bytes.appendLittleEndian(sequences.lowerBound)
        bytes.append(contentsOf: before.bytes)
        bytes.append(contentsOf: after.bytes)
        return bytes
    }

    // MARK: - Record

    /// The payload of the stub's record.
    package var payload: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(sequences.lowerBound)
        bytes.append(contentsOf: before.bytes)
        return bytes
    }

    /// Decodes the payload of a stub's record, or returns nil if it is invalid.
    package static func read(
        _ payload: UnsafeRawBufferPointer
    ) -> (first: UInt64, before: HashChain)? {
        var reader = ByteReader(payload)
        guard let first = reader.littleEndian(UInt64.self), let before = reader.hashChain(),
            reader.isAtEnd
        else { return nil }
        return (first, before)
    }
}

extension ByteReader {
    package mutating func hashChain() -> HashChain? {
        slice(RecordLayout.chainCount).flatMap { HashChain(Array($0)) }
    }
}

extension EventType {
    /// The type that the record of a range stub contains; no event has this type.
    package static let rangeCompacted: EventType = "RangeCompacted"
}

extension RecordView {
    /// Whether the record is a range stub, which replaces compacted events.
    @_spi(Core) public var isStub: Bool { flags.contains(.stub) }

    /// The sequence number of the event, or of the first event that a range stub replaces.
    package var firstSequence: UInt64 {
        guard isStub else { return sequence }
        var reader = ByteReader(payload)
        return reader.littleEndian(UInt64.self) ?? sequence
    }

    /// Returns whether the record is the event with this sequence number, or a stub that replaces
    /// that event.
    @inline(__always)
    package func holds(_ sequence: UInt64) -> Bool {
        self.sequence == sequence
            || isStub && firstSequence <= sequence && sequence < self.sequence
    }

    /// The position of the event, or of the first event that a range stub replaces.
    package var firstPosition: UInt64 { position &- (sequence &- firstSequence) }

    /// Whether the record is an event or a valid range stub.
    package var isSoundStub: Bool {
        guard isStub else { return true }
        guard let (first, _) = RangeStub.read(payload), flags.contains(.chain),
            RangeStub.isSound(first: first, last: sequence)
        else { return false }
        return position > sequence - first
    }

    /// Returns the range stub in the record, or nil if the record is an event or invalid.
    package func stub(of origin: OriginID) -> RangeStub? {
        guard isStub, let (first, before) = RangeStub.read(payload),
            let after = blocks.flatMap({ HashChain($0.chain) }),
            RangeStub.isSound(first: first, last: sequence)
        else { return nil }
        return try? RangeStub(
            origin: origin, sequences: first...sequence, stamp: stamp, before: before, after: after)
    }
}

extension [UInt8] {
    /// Appends the record of a range stub.
    package mutating func appendRecord(_ stub: RangeStub, as identity: RecordIdentity) {
        appendRecord(
            ProposedEvent(type: .rangeCompacted, schemaVersion: 1, tags: [], payload: stub.payload),
            as: identity, chain: stub.after.bytes, isStub: true)
    }
}
