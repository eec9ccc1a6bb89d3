internal import CISAL

/// The layout of an event in the log, specified in `schema/storage/v1.md`.
///
/// A record consists of a fixed little-endian header of 44 bytes, the tags, the optional blocks in
/// the order of their flags, and the payload. Origin and type are numbers assigned by the store.
/// Everything else is written in full, so a record can be checked without any other table.
@_spi(Core) public enum RecordLayout {
    /// The version of the layout.
    @inlinable public static var format: UInt8 { 1 }
    /// The size of the fixed header, in bytes.
    @inlinable public static var headerCount: Int { 44 }

    /// The optional parts of a record.
    public struct Flags: OptionSet, Sendable {
        /// The flags byte in the header of a record.
        public let rawValue: UInt8
        /// Creates flags from the byte in the header of a record.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The record observes a remote fact.
        @inlinable public static var fact: Flags { Flags(rawValue: 1) }
        /// The fact has a time of observation.
        @inlinable public static var observedAt: Flags { Flags(rawValue: 2) }
        /// The record contains the id of the event that caused this event.
        @inlinable public static var causation: Flags { Flags(rawValue: 4) }
        /// The record contains the id of the first event of its conversation.
        @inlinable public static var correlation: Flags { Flags(rawValue: 8) }
        /// The event was reissued; the record contains its original id.
        @inlinable public static var reissued: Flags { Flags(rawValue: 16) }
        /// The record is its origin's last record in a commit and contains the hash chain.
        @inlinable public static var chain: Flags { Flags(rawValue: 32) }
        /// The caller specified the stamp, which is unrelated to the store's clock.
        @inlinable public static var stampGiven: Flags { Flags(rawValue: 64) }
        /// The record is a range stub, which replaces compacted events.
        @inlinable public static var stub: Flags { Flags(rawValue: 128) }
    }

    /// The maximum number of tags per event.
    package static let tagsMax = 64
    /// The maximum size of a payload, in bytes.
    package static let payloadCountMax = 1 << 20
    /// The maximum size of a key id, in bytes.
    package static let keyIDCountMax = 64
    package static let chainCount = 32
}

/// The parts of a record that the committing transaction assigns.
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
    /// Appends a complete record.
    ///
    /// - Parameter chain: The 32 bytes of the hash chain if this is the origin's last record in the
    ///   commit; otherwise empty.
    package mutating func appendRecord(
        _ event: ProposedEvent, keyID: [UInt8] = [], reissuedFrom: EventID? = nil,
        as identity: RecordIdentity, chain: [UInt8], isStub: Bool = false
    ) {
        let start = count
        var flags: RecordLayout.Flags = isStub ? .stub : []
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

    /// Writes the checksum of the record that extends from `start` to the end of the array.
    private mutating func sealRecord(from start: Int) {
        let checksum = withUnsafeBytes {
            crc32c(UnsafeRawBufferPointer(rebasing: $0[(start + 4)...]))
        }
        Swift.withUnsafeBytes(of: checksum.littleEndian) { bytes in
            for index in 0..<4 { self[start + index] = bytes[index] }
        }
    }
}

/// A record that is read in place.
///
/// The view does not own its bytes, which are in an LMDB page or an import buffer.
@_spi(Core) public struct RecordView {
    /// The complete record.
    public let bytes: UnsafeRawBufferPointer

    /// Wraps a record without verifying its checksum; returns nil if the bytes cannot be a record.
    @inlinable
    @inline(__always)
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= RecordLayout.headerCount, bytes[4] == RecordLayout.format else {
            return nil
        }
        self.bytes = bytes
        guard payloadStart >= RecordLayout.headerCount, payloadStart <= bytes.count else {
            return nil
        }
    }

    /// Returns a little-endian number from the header.
    @inlinable
    @inline(__always)
    public func load<Value: FixedWidthInteger>(_ offset: Int, _: Value.Type) -> Value {
        Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    package var isIntact: Bool {
        load(0, UInt32.self) == crc32c(UnsafeRawBufferPointer(rebasing: bytes[4...]))
    }

    /// The optional parts that the record has.
    @inlinable
    public var flags: RecordLayout.Flags { RecordLayout.Flags(rawValue: bytes[5]) }
    /// The schema version of the payload.
    @inlinable
    public var schemaVersion: UInt16 { load(6, UInt16.self) }
    /// The position in the log.
    @inlinable
    public var position: UInt64 { load(8, UInt64.self) }
    /// The time of the event, according to its origin.
    @inlinable
    public var stamp: Stamp { Stamp(rawValue: load(16, UInt64.self)) }
    /// The sequence number of the event within its origin.
    @inlinable
    public var sequence: UInt64 { load(24, UInt64.self) }
    /// The number that the store has assigned to the event's origin.
    @inlinable
    public var origin: UInt32 { load(32, UInt32.self) }
    /// The number that the store has assigned to the event's type.
    @inlinable
    public var type: UInt16 { load(36, UInt16.self) }
    /// The rule by which compaction may remove the event.
    @inlinable
    public var retention: Retention { Retention(rawValue: bytes[38]) }
    /// The encoding of the payload.
    @inlinable
    public var encoding: PayloadEncoding { PayloadEncoding(rawValue: bytes[39]) }
    /// The offset of the payload.
    @inlinable
    @inline(__always)
    public var payloadStart: Int { Int(load(40, UInt16.self)) }
    /// The number of tags.
    @inlinable
    public var tagCount: Int { Int(bytes[42]) }
    /// The size of the key id, in bytes.
    @inlinable
    public var keyIDCount: Int { Int(bytes[43]) }

    /// The payload, without copying it.
    @inlinable
    @inline(__always)
    public var payload: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[payloadStart...])
    }

    /// Calls `body` with the UTF-8 bytes of each tag; returns false if the record is inconsistent.
    @inlinable
    @inline(__always)
    @discardableResult
    public func forEachTag(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
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

    /// Returns whether the record has a tag.
    package func hasTag(_ tag: Tag) -> Bool {
        var name = tag.text
        return name.withUTF8 { wanted in
            var isThere = false
            forEachTag { if $0.elementsEqual(wanted) { isThere = true } }
            return isThere
        }
    }

    /// The blocks after the tags; nil if the record is inconsistent.
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

    /// The remote fact that the event observes, decoded without the other blocks; nil if there is
    /// none.
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

extension RecordView {
    /// The maximum size of records that are checked three at a time; for larger records ISA-L is
    /// faster.
    private static let checkedInThreesCountMax = 1_024
    /// The number of bytes by which prefetching is ahead of the records being checked.
    ///
    /// Prefetching helps because callers that check three records at a time read the log in order.
    private static let fetchedAheadCount = 8_192
    private static let canCheckThree = tapedeck_crc32c_has_three() != 0

    /// Asks the processor to prefetch the record, or the beginning of a long record.
    package func fetch() {
        tapedeck_fetch(bytes.baseAddress, min(bytes.count, RecordView.fetchedCountMax))
    }
    private static let fetchedCountMax = 512

    /// Returns whether three values are records with correct checksums.
    ///
    /// Returns nil if the values should be checked one by one.
    package static func areIntact(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
        _ third: UnsafeRawBufferPointer
    ) -> Bool? {
        let sizes = RecordLayout.headerCount...checkedInThreesCountMax
        guard canCheckThree, sizes ~= first.count, sizes ~= second.count, sizes ~= third.count,
            let first = Checked(first), let second = Checked(second), let third = Checked(third)
        else { return nil }
        let found = tapedeck_crc32c_of_three(
            first.start, first.count, second.start, second.count, third.start, third.count,
            fetchedAheadCount)
        return found.first == first.checksum && found.second == second.checksum
            && found.third == third.checksum
    }

    /// The part of a record that its checksum covers.
    private struct Checked {
        var start: UnsafePointer<UInt8>
        var count: Int
        var checksum: UInt32

        @inline(__always)
        init?(_ record: UnsafeRawBufferPointer) {
            guard let base = record.baseAddress else { return nil }
            checksum = UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))
            start = (base + 4).assumingMemoryBound(to: UInt8.self)
            count = record.count - 4
        }
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
        if flags.contains(.causation) {
            guard let read = reader.eventID() else { return nil }
            causation = read
        }
        if flags.contains(.correlation) {
            guard let read = reader.eventID() else { return nil }
            correlation = read
        }
        if flags.contains(.reissued) {
            guard let read = reader.eventID() else { return nil }
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
