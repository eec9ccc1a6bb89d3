@_spi(Core) internal import TapedeckModel

extension [UInt8] {
    /// Appends the canonical bytes of a record; returns false if the record is inconsistent.
    mutating func appendCanonical(_ record: RecordView, origin: OriginID, type: [UInt8]) -> Bool {
        if record.isStub {
            guard let stub = record.stub(of: origin) else { return false }
            append(contentsOf: stub.canonical)
            return true
        }
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

    /// Appends the record of an event, which is read from its canonical bytes.
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
        func add(_ part: Range<Int>) {
            guard !part.isEmpty else { return }
            append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[part]))
        }
        add(event.fact)
        add(event.causation)
        add(event.correlation)
        add(event.reissuedFrom)
        add(event.keyID)
        if let chain { append(contentsOf: chain.bytes) }
        add(event.payload)
        withUnsafeMutableBytes { whole in
            let checksum = crc32c(UnsafeRawBufferPointer(rebasing: whole[(start + 4)...]))
            whole.storeBytes(of: checksum.littleEndian, toByteOffset: start, as: UInt32.self)
        }
    }
}
