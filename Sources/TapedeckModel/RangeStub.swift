/// What is left of neighbouring events of one origin that compaction has taken away: their names, and the
/// hash chain on either side of them.
///
/// Its canonical bytes stand where those of an event do, in exports and on the wire: `schema/storage/v1.md`
/// has the map. Its name is that of its last event.
package struct RangeStub: Hashable, Sendable {
    package let origin: OriginID
    /// The events that it stands for.
    package let sequences: ClosedRange<UInt64>
    /// The stamp of the last of them.
    package let stamp: Stamp
    /// The origin's hash chain before the first of them.
    package let before: HashChain
    /// The chain as of the last of them.
    package let after: HashChain

    /// The most events that one stands for.
    package static let countMax: UInt64 = 1_024
    package static let version: UInt8 = 2
    private static let byteCount = 105

    /// Throws where it would stand for no events, or for too many.
    package init(
        origin: OriginID, sequences: ClosedRange<UInt64>, stamp: Stamp, before: HashChain,
        after: HashChain
    ) throws(CanonicalProblem) {
        guard RangeStub.isSound(first: sequences.lowerBound, last: sequences.upperBound) else {
            throw CanonicalProblem(what: "a range stub of it stands for too many events")
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

    /// The name of the last event.
    package var id: EventID { EventID(origin: origin, sequence: sequences.upperBound) }

    package var count: UInt64 { sequences.upperBound - sequences.lowerBound + 1 }

    /// What is left of it behind an event that is recorded, where `chain` is the chain as of that event;
    /// nil where that is its last.
    package func rest(behind sequence: UInt64, _ chain: HashChain) -> RangeStub? {
        guard sequence < sequences.upperBound else { return nil }
        return try? RangeStub(
            origin: origin,
            sequences: max(sequence + 1, sequences.lowerBound)...sequences.upperBound,
            stamp: stamp, before: chain, after: after)
    }

    // MARK: - Canonical bytes

    /// Whether canonical bytes are those of a range stub.
    @inline(__always)
    package static func isStub(_ canonical: UnsafeRawBufferPointer) -> Bool {
        canonical.first == version
    }

    /// Reads canonical bytes; throws what is wrong with them.
    package init(_ canonical: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        var reader = ByteReader(canonical)
        guard canonical.count == RangeStub.byteCount, RangeStub.isStub(canonical),
            reader.littleEndian(UInt8.self) != nil, let id = reader.eventID(),
            let stamp = reader.littleEndian(UInt64.self),
            let first = reader.littleEndian(UInt64.self),
            RangeStub.isSound(first: first, last: id.sequence), let before = reader.hashChain(),
            let after = reader.hashChain()
        else { throw CanonicalProblem(what: "it is not a range stub") }
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

    /// The payload of its record.
    package var payload: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(sequences.lowerBound)
        bytes.append(contentsOf: before.bytes)
        return bytes
    }

    /// Reads a payload; nil where it is not one.
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
    /// What the record of a range stub says that it is; no event is of this type.
    package static let rangeCompacted: EventType = "RangeCompacted"
}

extension RecordView {
    /// Whether it stands for events that compaction has taken away.
    @_spi(Core) public var isStub: Bool { flags.contains(.stub) }

    /// The first of the sequences that it stands for: its own, but for a range stub.
    package var firstSequence: UInt64 {
        guard isStub else { return sequence }
        var reader = ByteReader(payload)
        return reader.littleEndian(UInt64.self) ?? sequence
    }

    /// Whether it is the event of a sequence of its origin, or stands for it.
    @inline(__always)
    package func holds(_ sequence: UInt64) -> Bool {
        self.sequence == sequence
            || isStub && firstSequence <= sequence && sequence < self.sequence
    }

    /// The first of the positions that it stands for.
    package var firstPosition: UInt64 { position &- (sequence &- firstSequence) }

    /// Whether a range stub is one; whatever is no stub is.
    package var isSoundStub: Bool {
        guard isStub else { return true }
        guard let (first, _) = RangeStub.read(payload), flags.contains(.chain),
            RangeStub.isSound(first: first, last: sequence)
        else { return false }
        return position > sequence - first
    }

    /// The range stub that the record is of; nil for an event.
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
