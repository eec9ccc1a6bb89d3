@_spi(Core) internal import TapedeckModel

/// An event's canonical bytes (`CanonicalEvent`) read in place: what an export holds of it.
///
/// Bytes from outside are taken only if they are the one form in which `CanonicalEvent` would write
/// them; otherwise an event could be recorded whose hash cannot be computed again.
struct CanonicalView {
    let bytes: UnsafeRawBufferPointer
    let id: EventID
    let stamp: Stamp
    let isStampGiven: Bool
    let type: Range<Int>
    let schemaVersion: UInt16
    let retention: UInt8
    let encoding: UInt8
    let tagCount: Int
    /// The tags, each behind its length.
    let tags: Range<Int>
    let tagByteCount: Int
    /// The fact's parts, as they stand in a record; empty without.
    let fact: Range<Int>
    let hasObservedAt: Bool
    /// Identities, as they stand in a record; empty without.
    let causation: Range<Int>
    let correlation: Range<Int>
    let reissuedFrom: Range<Int>
    let keyID: Range<Int>
    let payload: Range<Int>

    static let version: UInt8 = 1
    static let idCount = 24
    /// Version, identity, stamp and whether it was given.
    private static let fixedCount = 34

    /// Reads the identity alone; nil where there is none.
    static func id(of bytes: UnsafeRawBufferPointer) -> EventID? {
        guard bytes.count >= fixedCount, bytes[0] == version else { return nil }
        return EventID(
            origin: OriginID(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 9, as: UInt64.self))),
            sequence: UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: 17, as: UInt64.self)))
    }

    /// Reads and checks the whole; throws what is wrong with it.
    init(_ bytes: UnsafeRawBufferPointer) throws(CanonicalProblem) {
        guard let id = CanonicalView.id(of: bytes), id.sequence > 0 else {
            throw CanonicalProblem(what: "it has no identity")
        }
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

/// Why bytes are not the canonical bytes of an event.
struct CanonicalProblem: Error {
    let what: String
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

extension [UInt8] {
    /// Appends the canonical bytes of a record; false where the record contradicts itself.
    mutating func appendCanonical(_ record: RecordView, origin: OriginID, type: [UInt8]) -> Bool {
        let bytes = record.bytes
        let flags = record.flags
        reserveCapacity(count + bytes.count + type.count + 64)
        append(CanonicalView.version)
        appendBigEndian(origin.high)
        appendBigEndian(origin.low)
        appendLittleEndian(record.sequence)
        appendLittleEndian(record.stamp.rawValue)
        append(flags.contains(.stampGiven) ? 1 : 0)
        appendVarint(UInt64(type.count))
        append(contentsOf: type)
        appendLittleEndian(record.schemaVersion)
        append(record.retention.rawValue)
        append(record.encoding.rawValue)
        appendVarint(UInt64(record.tagCount))
        var offset = RecordLayout.headerCount
        let isWhole = record.forEachTag { tag in
            appendVarint(UInt64(tag.count))
            append(contentsOf: tag)
            offset += 2 + tag.count
        }
        guard isWhole else { return false }
        let end = record.payloadStart

        func take(_ count: Int) -> UnsafeRawBufferPointer? {
            guard count <= end - offset else { return nil }
            defer { offset += count }
            return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
        }
        if flags.contains(.fact) {
            let hasObservedAt = flags.contains(.observedAt)
            guard let fact = take(hasObservedAt ? 48 : 40) else { return false }
            append(hasObservedAt ? 2 : 1)
            append(contentsOf: fact)
        } else {
            append(0)
        }
        for flag in [RecordLayout.Flags.causation, .correlation, .reissued] {
            guard flags.contains(flag) else {
                append(0)
                continue
            }
            guard let id = take(CanonicalView.idCount) else { return false }
            append(1)
            append(contentsOf: id)
        }
        guard let keyID = take(record.keyIDCount),
            take(flags.contains(.chain) ? RecordLayout.chainCount : 0) != nil, offset == end
        else { return false }
        appendVarint(UInt64(keyID.count))
        append(contentsOf: keyID)
        appendVarint(UInt64(record.payload.count))
        append(contentsOf: record.payload)
        return true
    }

    /// Appends the record of an event that is there as canonical bytes.
    mutating func appendRecord(
        _ event: CanonicalView, as identity: RecordIdentity, chain: HashChain?
    ) {
        let start = count
        let bytes = event.bytes
        var flags: UInt8 = 0
        func set(_ flag: RecordLayout.Flags, _ isSet: Bool) { if isSet { flags |= flag.rawValue } }
        set(.fact, !event.fact.isEmpty)
        set(.observedAt, event.hasObservedAt)
        set(.causation, !event.causation.isEmpty)
        set(.correlation, !event.correlation.isEmpty)
        set(.reissued, !event.reissuedFrom.isEmpty)
        set(.chain, chain != nil)
        set(.stampGiven, event.isStampGiven)
        let payloadStart =
            RecordLayout.headerCount + 2 * event.tagCount + event.tagByteCount + event.fact.count
            + event.causation.count + event.correlation.count + event.reissuedFrom.count
            + event.keyID.count + (chain == nil ? 0 : RecordLayout.chainCount)

        reserveCapacity(start + payloadStart + event.payload.count)
        appendLittleEndian(UInt32(0))
        append(RecordLayout.format)
        append(flags)
        appendLittleEndian(event.schemaVersion)
        appendLittleEndian(identity.position)
        appendLittleEndian(identity.stamp.rawValue)
        appendLittleEndian(identity.sequence)
        appendLittleEndian(identity.origin)
        appendLittleEndian(identity.type)
        append(event.retention)
        append(event.encoding)
        appendLittleEndian(UInt16(payloadStart))
        append(UInt8(event.tagCount))
        append(UInt8(event.keyID.count))
        var tags = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[event.tags]))
        while let tag = tags.prefixed() {
            appendLittleEndian(UInt16(tag.count))
            append(contentsOf: tag)
        }
        for part in [
            event.fact, event.causation, event.correlation, event.reissuedFrom, event.keyID,
        ]
        where !part.isEmpty {
            append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[part]))
        }
        if let chain { append(contentsOf: chain.bytes) }
        append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[event.payload]))
        withUnsafeMutableBytes { whole in
            let checksum = crc32c(UnsafeRawBufferPointer(rebasing: whole[(start + 4)...]))
            whole.storeBytes(of: checksum.littleEndian, toByteOffset: start, as: UInt32.self)
        }
    }
}
