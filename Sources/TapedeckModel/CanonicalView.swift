/// An event's canonical bytes (`CanonicalEvent`) read in place: what an export holds of it.
///
/// Bytes from outside are taken only if they are the one form in which `CanonicalEvent` would write
/// them; otherwise an event could be recorded whose hash cannot be computed again.
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
    /// The tags, each behind its length.
    package let tags: Range<Int>
    package let tagByteCount: Int
    /// The fact's parts, as they stand in a record; empty without.
    package let fact: Range<Int>
    package let hasObservedAt: Bool
    /// Identities, as they stand in a record; empty without.
    package let causation: Range<Int>
    package let correlation: Range<Int>
    package let reissuedFrom: Range<Int>
    package let keyID: Range<Int>
    package let payload: Range<Int>

    package static let version: UInt8 = 1
    package static let idCount = 24
    /// Version, identity, stamp and whether it was given.
    private static let fixedCount = 34

    /// Reads the identity alone, of a range stub that of its last event; nil where there is none.
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

    /// Reads and checks the whole; throws what is wrong with it.
    package init(_ bytes: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        guard let id = CanonicalView.id(of: bytes), id.sequence > 0,
            bytes[0] == CanonicalView.version
        else { throw CanonicalProblem(what: "it has no identity") }
        self.bytes = bytes
        self.id = id
        var reader = CanonicalReader(bytes, offset: 25)
        stamp = Stamp(rawValue: try reader.integer(UInt64.self))
        isStampGiven = try reader.choice(1) == 1
        type = try reader.prefixed()
        guard EventType.isWellFormed(UnsafeRawBufferPointer(rebasing: bytes[type])) else {
            throw CanonicalProblem(what: "its type's name makes no sense")
        }
        schemaVersion = try reader.integer(UInt16.self)
        retention = try reader.integer(UInt8.self)
        encoding = try reader.integer(UInt8.self)

        tagCount = try reader.count()
        guard tagCount <= RecordLayout.tagsMax else {
            throw CanonicalProblem(what: "it has \(tagCount) tags")
        }
        let tagsStart = reader.offset
        var tagByteCount = 0
        for _ in 0..<tagCount {
            let tag = try reader.prefixed()
            guard Tag.isWellFormed(UnsafeRawBufferPointer(rebasing: bytes[tag])) else {
                throw CanonicalProblem(what: "a tag of it makes no sense")
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
        else { throw CanonicalProblem(what: "a part of it is too long") }
        guard reader.offset == bytes.count else {
            throw CanonicalProblem(what: "more follows than it should have")
        }
    }
}

extension CanonicalView {
    /// The name under which the event was first known; nil where that is its own.
    package var source: EventID? {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[reissuedFrom]))
        return reader.eventID()
    }

    /// The digest of what the event says: the same of an event and of what was written anew from it.
    ///
    /// Left out are the names, and whether the stamp was given, as that of a reissue always is.
    package var content: Digest16 {
        var parts = Array(bytes[CanonicalView.stamp])
        parts.append(contentsOf: bytes[CanonicalView.fixedCount..<reissuedFrom.lowerBound - 1])
        parts.append(contentsOf: bytes[reissuedFrom.upperBound...])
        return Digest16(hashing: parts)
    }

    private static let stamp = 25..<33
}

/// Why bytes are not the canonical bytes of an event.
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
        guard count <= bytes.count - offset else { throw CanonicalProblem(what: "it is cut off") }
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
        guard value <= most else { throw CanonicalProblem(what: "its parts make no sense") }
        return value
    }

    /// A length in the fewest bytes.
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
        throw CanonicalProblem(what: "a length in it makes no sense")
    }

    @inline(__always)
    mutating func prefixed() throws(CanonicalProblem) -> Range<Int> { try slice(try count()) }
}
