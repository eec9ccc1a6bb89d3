/// The bytes of an event in the log: `schema/storage/v1.md` has the map.
///
/// A fixed little-endian header of 44 bytes, then tags, optional blocks in the order of their flags,
/// then the payload to the end. Origin and type are the store's own small numbers; everything else
/// is spelled out, so that a record can be checked without any other table.
package enum RecordLayout {
    package static let format: UInt8 = 1
    package static let headerCount = 44

    package struct Flags: OptionSet {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let fact = Flags(rawValue: 1)
        package static let observedAt = Flags(rawValue: 2)
        package static let causation = Flags(rawValue: 4)
        package static let correlation = Flags(rawValue: 8)
        package static let reissued = Flags(rawValue: 16)
        package static let chain = Flags(rawValue: 32)
        /// The stamp was given by the caller and says nothing of the store's clock.
        package static let stampGiven = Flags(rawValue: 64)
        /// A range stub left by compaction; version 1 writes none.
        package static let stub = Flags(rawValue: 128)
    }

    /// The most tags that an event may have.
    package static let tagsMax = 64
    /// The longest payload in bytes.
    package static let payloadCountMax = 1 << 20
    /// The longest key id in bytes.
    package static let keyIDCountMax = 64
    package static let chainCount = 32
}

/// What goes into a record besides the proposal: all that the committing transaction assigns.
package struct RecordIdentity {
    package var position: UInt64
    package var stamp: Stamp
    package var sequence: UInt64
    package var origin: UInt32
    package var type: UInt16

    package init(
        position: UInt64, stamp: Stamp, sequence: UInt64, origin: UInt32, type: UInt16
    ) {
        self.position = position
        self.stamp = stamp
        self.sequence = sequence
        self.origin = origin
        self.type = type
    }
}

extension [UInt8] {
    /// Appends a whole record; `chain` has 32 bytes where the record ends its origin's part of a
    /// commit, and is empty elsewhere.
    package mutating func appendRecord(
        _ event: ProposedEvent, keyID: [UInt8] = [], reissuedFrom: EventID? = nil,
        as identity: RecordIdentity, chain: [UInt8]
    ) {
        let start = count
        var flags: RecordLayout.Flags = []
        if let fact = event.fact {
            flags.insert(.fact)
            if fact.observedAt != nil { flags.insert(.observedAt) }
        }
        if event.causation != nil { flags.insert(.causation) }
        if event.correlation != nil { flags.insert(.correlation) }
        if reissuedFrom != nil { flags.insert(.reissued) }
        if !chain.isEmpty { flags.insert(.chain) }
        if event.atMilliseconds != nil { flags.insert(.stampGiven) }

        var payloadStart = RecordLayout.headerCount
        for tag in event.tags { payloadStart += 2 + tag.text.utf8.count }
        if let fact = event.fact { payloadStart += fact.observedAt == nil ? 40 : 48 }
        if event.causation != nil { payloadStart += 24 }
        if event.correlation != nil { payloadStart += 24 }
        if reissuedFrom != nil { payloadStart += 24 }
        payloadStart += keyID.count + chain.count

        reserveCapacity(start + payloadStart + event.payload.count)
        appendLittleEndian(UInt32(0))
        append(RecordLayout.format)
        append(flags.rawValue)
        appendLittleEndian(event.schemaVersion)
        appendLittleEndian(identity.position)
        appendLittleEndian(identity.stamp.rawValue)
        appendLittleEndian(identity.sequence)
        appendLittleEndian(identity.origin)
        appendLittleEndian(identity.type)
        append(event.retention.rawValue)
        append(event.encoding.rawValue)
        appendLittleEndian(UInt16(payloadStart))
        append(UInt8(event.tags.count))
        append(UInt8(keyID.count))
        for tag in event.tags {
            var text = tag.text
            text.withUTF8 { utf8 in
                appendLittleEndian(UInt16(utf8.count))
                append(contentsOf: utf8)
            }
        }
        if let fact = event.fact {
            appendLittleEndian(fact.version)
            for half in [fact.entity.high, fact.entity.low, fact.content.high, fact.content.low] {
                appendBigEndian(half)
            }
            if let observedAt = fact.observedAt { appendLittleEndian(observedAt) }
        }
        for id in [event.causation, event.correlation, reissuedFrom] {
            guard let id else { continue }
            appendBigEndian(id.origin.high)
            appendBigEndian(id.origin.low)
            appendLittleEndian(id.sequence)
        }
        append(contentsOf: keyID)
        append(contentsOf: chain)
        append(contentsOf: event.payload)
        sealRecord(from: start)
    }

    /// Writes the checksum of the record that begins at `start` and goes to the end.
    private mutating func sealRecord(from start: Int) {
        let checksum = withUnsafeBytes {
            crc32c(UnsafeRawBufferPointer(rebasing: $0[(start + 4)...]))
        }
        Swift.withUnsafeBytes(of: checksum.littleEndian) { bytes in
            for index in 0..<4 { self[start + index] = bytes[index] }
        }
    }
}

/// A record read in place.
///
/// The bytes belong to someone else: a page of LMDB, or an import's buffer.
package struct RecordView {
    package let bytes: UnsafeRawBufferPointer

    /// Looks at a record without reading its checksum; nil where the bytes cannot be a record.
    @inlinable
    @inline(__always)
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= RecordLayout.headerCount, bytes[4] == RecordLayout.format else {
            return nil
        }
        self.bytes = bytes
        guard payloadStart >= RecordLayout.headerCount, payloadStart <= bytes.count else {
            return nil
        }
    }

    @inlinable
    @inline(__always)
    package func load<Value: FixedWidthInteger>(_ offset: Int, _: Value.Type) -> Value {
        Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    @inlinable
    package var isIntact: Bool {
        load(0, UInt32.self) == crc32c(UnsafeRawBufferPointer(rebasing: bytes[4...]))
    }

    @inlinable
    package var flags: RecordLayout.Flags { RecordLayout.Flags(rawValue: bytes[5]) }
    @inlinable
    package var schemaVersion: UInt16 { load(6, UInt16.self) }
    @inlinable
    package var position: UInt64 { load(8, UInt64.self) }
    @inlinable
    package var stamp: Stamp { Stamp(rawValue: load(16, UInt64.self)) }
    @inlinable
    package var sequence: UInt64 { load(24, UInt64.self) }
    @inlinable
    package var origin: UInt32 { load(32, UInt32.self) }
    @inlinable
    package var type: UInt16 { load(36, UInt16.self) }
    @inlinable
    package var retention: Retention { Retention(rawValue: bytes[38]) }
    @inlinable
    package var encoding: PayloadEncoding { PayloadEncoding(rawValue: bytes[39]) }
    @inlinable
    @inline(__always)
    package var payloadStart: Int { Int(load(40, UInt16.self)) }
    @inlinable
    package var tagCount: Int { Int(bytes[42]) }
    @inlinable
    package var keyIDCount: Int { Int(bytes[43]) }

    @inlinable
    @inline(__always)
    package var payload: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[payloadStart...])
    }

    /// Calls `body` with the UTF-8 of each tag; false where the record contradicts itself.
    @inlinable
    @inline(__always)
    @discardableResult
    package func forEachTag(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var offset = RecordLayout.headerCount
        let end = payloadStart
        for _ in 0..<tagCount {
            guard offset + 2 <= end else { return false }
            let count = Int(load(offset, UInt16.self))
            guard offset + 2 + count <= end else { return false }
            body(UnsafeRawBufferPointer(rebasing: bytes[offset + 2..<offset + 2 + count]))
            offset += 2 + count
        }
        return true
    }

    /// The blocks behind the tags; nil where the record contradicts itself.
    package var blocks: RecordBlocks? {
        var offset = RecordLayout.headerCount
        for _ in 0..<tagCount {
            guard offset + 2 <= payloadStart else { return nil }
            offset += 2 + Int(load(offset, UInt16.self))
        }
        guard offset <= payloadStart else { return nil }
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[offset..<payloadStart]))
        return RecordBlocks(&reader, flags: flags, keyIDCount: keyIDCount)
    }

    /// What remote fact the event is a sighting of; read without the other blocks.
    package var fact: ObservedFact? {
        guard flags.contains(.fact) else { return nil }
        var offset = RecordLayout.headerCount
        for _ in 0..<tagCount {
            guard offset + 2 <= payloadStart else { return nil }
            offset += 2 + Int(load(offset, UInt16.self))
        }
        let isDated = flags.contains(.observedAt)
        guard offset + (isDated ? 48 : 40) <= payloadStart else { return nil }
        func half(_ index: Int) -> UInt64 {
            UInt64(
                bigEndian: bytes.loadUnaligned(
                    fromByteOffset: offset + 8 + index * 8, as: UInt64.self))
        }
        return ObservedFact(
            entity: Digest16(high: half(0), low: half(1)),
            content: Digest16(high: half(2), low: half(3)), version: load(offset, UInt64.self),
            observedAt: isDated ? load(offset + 40, Int64.self) : nil)
    }
}

/// The optional parts of a record.
package struct RecordBlocks {
    package var fact: ObservedFact?
    package var causation: EventID?
    package var correlation: EventID?
    package var reissuedFrom: EventID?
    package var keyID: [UInt8] = []
    package var chain: [UInt8] = []

    init?(_ reader: inout ByteReader, flags: RecordLayout.Flags, keyIDCount: Int) {
        if flags.contains(.fact) {
            guard let version = reader.littleEndian(UInt64.self),
                let entityHigh = reader.bigEndian(UInt64.self),
                let entityLow = reader.bigEndian(UInt64.self),
                let contentHigh = reader.bigEndian(UInt64.self),
                let contentLow = reader.bigEndian(UInt64.self)
            else { return nil }
            var observedAt: Int64?
            if flags.contains(.observedAt) {
                guard let time = reader.littleEndian(Int64.self) else { return nil }
                observedAt = time
            }
            fact = ObservedFact(
                entity: Digest16(high: entityHigh, low: entityLow),
                content: Digest16(high: contentHigh, low: contentLow), version: version,
                observedAt: observedAt)
        }
        func id() -> EventID? {
            guard let high = reader.bigEndian(UInt64.self),
                let low = reader.bigEndian(UInt64.self),
                let sequence = reader.littleEndian(UInt64.self)
            else { return nil }
            return EventID(origin: OriginID(high: high, low: low), sequence: sequence)
        }
        if flags.contains(.causation) {
            guard let read = id() else { return nil }
            causation = read
        }
        if flags.contains(.correlation) {
            guard let read = id() else { return nil }
            correlation = read
        }
        if flags.contains(.reissued) {
            guard let read = id() else { return nil }
            reissuedFrom = read
        }
        guard let key = reader.slice(keyIDCount) else { return nil }
        keyID = Array(key)
        if flags.contains(.chain) {
            guard let hash = reader.slice(RecordLayout.chainCount) else { return nil }
            chain = Array(hash)
        }
        guard reader.isAtEnd else { return nil }
    }
}
