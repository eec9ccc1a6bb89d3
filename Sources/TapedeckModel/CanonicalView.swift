/// The canonical bytes of an event (`CanonicalEvent`), read in place from an export or a message.
///
/// External bytes are accepted only in the exact form that `CanonicalEvent` writes. Otherwise a
/// store could record an event whose hash cannot be reproduced.
package struct CanonicalView {
    package let bytes: UnsafeRawBufferPointer
    package let id: EventID
    package let stamp: Stamp
    package let isStampGiven: Bool
    package let type: Range<Int>
    package let schemaVersion: UInt16
    package let retention: UInt8
    package let encoding: UInt8
    package let tagCount: Int
    /// The tags, each preceded by its length.
    package let tags: Range<Int>
    package let tagByteCount: Int
    /// The parts of the fact, encoded as in a record; empty if there is no fact.
    package let fact: Range<Int>
    package let hasObservedAt: Bool
    /// The id of the causing event, encoded as in a record; empty if there is none.
    package let causation: Range<Int>
    /// The id of the first event of the conversation, encoded in the same way.
    package let correlation: Range<Int>
    /// The original id of a reissued event, encoded in the same way.
    package let reissuedFrom: Range<Int>
    package let keyID: Range<Int>
    package let payload: Range<Int>

    package static let version: UInt8 = 1
    package static let idCount = 24
    /// The total size, in bytes, of the version, the id, the stamp and the `isStampGiven` flag.
    private static let fixedCount = 34

    /// Returns the id of the event, or of the last event that a range stub replaces; nil if the
    /// bytes contain no id.
    package static func id(of bytes: UnsafeRawBufferPointer) -> EventID? {
        guard bytes.count >= fixedCount, bytes[0] == version || RangeStub.isStub(bytes) else {
            return nil
        }
        return EventID(
            origin: OriginID(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 9, as: UInt64.self))),
            sequence: UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: 17, as: UInt64.self)))
    }

    /// Decodes and validates all parts; throws if the bytes are not canonical.
    package init(_ bytes: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        guard let id = CanonicalView.id(of: bytes), id.sequence > 0,
            bytes[0] == CanonicalView.version
        else { throw CanonicalProblem(what: "it has no event id") }
        self.bytes = bytes
        self.id = id
        var reader = CanonicalReader(bytes, offset: 25)
        stamp = Stamp(rawValue: try reader.integer(UInt64.self))
        isStampGiven = try reader.choice(1) == 1
        type = try reader.prefixed()
        guard EventType.isWellFormed(UnsafeRawBufferPointer(rebasing: bytes[type])) else {
            throw CanonicalProblem(what: "its type name is invalid")
        }
        schemaVersion = try reader.integer(UInt16.self)
        retention = try reader.integer(UInt8.self)
        encoding = try reader.integer(UInt8.self)

        tagCount = try reader.count()
        guard tagCount <= RecordLayout.tagsMax else {
            throw CanonicalProblem(
                what: "it has \(tagCount) tags; the limit is \(RecordLayout.tagsMax)")
        }
        let tagsStart = reader.offset
        var tagByteCount = 0
        for _ in 0..<tagCount {
            let tag = try reader.prefixed()
            guard Tag.isWellFormed(UnsafeRawBufferPointer(rebasing: bytes[tag])) else {
                throw CanonicalProblem(what: "one of its tags is invalid")
            }
            tagByteCount += tag.count
        }
        tags = tagsStart..<reader.offset
        self.tagByteCount = tagByteCount

        let factKind = try reader.choice(2)
        fact = try reader.slice(factKind == 0 ? 0 : factKind == 1 ? 40 : 48)
        hasObservedAt = factKind == 2
        causation = try reader.slice(try reader.choice(1) == 1 ? CanonicalView.idCount : 0)
        correlation = try reader.slice(try reader.choice(1) == 1 ? CanonicalView.idCount : 0)
        reissuedFrom = try reader.slice(try reader.choice(1) == 1 ? CanonicalView.idCount : 0)
        keyID = try reader.prefixed()
        payload = try reader.prefixed()
        guard keyID.count <= RecordLayout.keyIDCountMax,
            payload.count <= RecordLayout.payloadCountMax
        else { throw CanonicalProblem(what: "its key id or payload is too long") }
        guard reader.offset == bytes.count else {
            throw CanonicalProblem(what: "it has extra bytes at the end")
        }
    }
}

extension CanonicalView {
    /// The original id of a reissued event; nil for other events.
    package var source: EventID? {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[reissuedFrom]))
        return reader.eventID()
    }

    /// The digest of the event's content, which is the same for an event and its reissue.
    ///
    /// The digest excludes the ids and the `isStampGiven` flag, because a reissued event has
    /// another id and always has the flag.
    package var content: Digest16 {
        var parts = Array(bytes[CanonicalView.stamp])
        parts.append(contentsOf: bytes[CanonicalView.fixedCount..<reissuedFrom.lowerBound - 1])
        parts.append(contentsOf: bytes[reissuedFrom.upperBound...])
        return Digest16(hashing: parts)
    }

    private static let stamp = 25..<33
}

/// The reason why bytes are not canonical.
package struct CanonicalProblem: Error {
    package let what: String
}

private struct CanonicalReader {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset: Int

    init(_ bytes: UnsafeRawBufferPointer, offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    @inline(__always)
    mutating func slice(_ count: Int) throws(CanonicalProblem) -> Range<Int> {
        guard count <= bytes.count - offset else { throw CanonicalProblem(what: "it is truncated") }
        defer { offset += count }
        return offset..<offset + count
    }

    @inline(__always)
    mutating func integer<Value: FixedWidthInteger>(
        _: Value.Type
    ) throws(CanonicalProblem) -> Value {
        let range = try slice(MemoryLayout<Value>.size)
        return Value(
            littleEndian: bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: Value.self))
    }

    @inline(__always)
    mutating func choice(_ most: UInt8) throws(CanonicalProblem) -> UInt8 {
        let value = try integer(UInt8.self)
        guard value <= most else { throw CanonicalProblem(what: "one of its fields is invalid") }
        return value
    }

    /// Reads a length; throws unless it is encoded in the fewest possible bytes.
    @inline(__always)
    mutating func count() throws(CanonicalProblem) -> Int {
        var value = 0
        var shift = 0
        while offset < bytes.count, shift <= 28 {
            let byte = bytes[offset]
            offset += 1
            value |= Int(byte & 0x7F) << shift
            if byte < 0x80 {
                guard byte > 0 || shift == 0 else { break }
                return value
            }
            shift += 7
        }
        throw CanonicalProblem(what: "one of its lengths is invalid")
    }

    @inline(__always)
    mutating func prefixed() throws(CanonicalProblem) -> Range<Int> { try slice(try count()) }
}
