@_spi(Core) package import TapedeckModel

/// A recorded event to be folded: its record, which is read in place, and the values on which all
/// devices agree.
package struct EventReference {
    package var record: RecordView
    /// The id under which the event was first recorded.
    package var id: EventID
    /// The effective stamp.
    package var stamp: Stamp
    package var order: FoldOrder

    /// - Parameter effectiveStamp: The stamp of the receipt if it is earlier than the event's own
    ///   stamp; otherwise nil.
    @inline(__always)
    package init(_ record: RecordView, origin: OriginID, effectiveStamp: Stamp?) {
        self.record = record
        stamp = effectiveStamp ?? record.stamp
        let name = EventID(origin: origin, sequence: record.sequence)
        if record.flags.contains(.reissued), let first = record.blocks?.reissuedFrom {
            id = first
        } else {
            id = name
        }
        if record.flags.contains(.fact), let fact = record.fact {
            order = fact.order
        } else {
            // Activity is ordered by its current id, because after a history has split, two events
            // can have the same stamp and the same first id.
            order = FoldOrder(stamp: stamp, id: name)
        }
    }
}

/// The bytes of a key in the tables of a views file.
///
/// The bytes are the stable hash (8 bytes, big-endian), the length (1 byte), and the tag; a long
/// tag is truncated and ends with a digest. Tables are therefore ordered by hash, so a rebuild that
/// processes keys by hash range writes every table in order.
package struct ViewKey: Hashable {
    package static let tagCountMax = 220

    package let hash: UInt64
    package let bytes: [UInt8]

    package init(tag: UnsafeRawBufferPointer) {
        let hash = ViewKey.hash(of: tag)
        self.hash = hash
        var bytes: [UInt8] = []
        bytes.reserveCapacity(9 + min(tag.count, ViewKey.tagCountMax))
        bytes.appendBigEndian(hash)
        if tag.count <= ViewKey.tagCountMax {
            bytes.append(UInt8(tag.count))
            bytes.append(contentsOf: tag)
        } else {
            let digest = Digest16(hashing: Array(tag))
            bytes.append(UInt8(ViewKey.tagCountMax))
            bytes.append(contentsOf: tag.prefix(ViewKey.tagCountMax - 16))
            bytes.appendBigEndian(digest.high)
            bytes.appendBigEndian(digest.low)
        }
        self.bytes = bytes
    }

    package init(_ tag: Tag) {
        var text = tag.text
        self = text.withUTF8 { ViewKey(tag: UnsafeRawBufferPointer($0)) }
    }

    /// Returns the length of the view key at the start of a longer key; nil if the bytes are not a
    /// valid key.
    static func count(in bytes: [UInt8]) -> Int? {
        guard bytes.count > 8, bytes.count >= 9 + Int(bytes[8]) else { return nil }
        return 9 + Int(bytes[8])
    }

    /// Returns the tag of the view key at the start of a longer key; nil if the tag was truncated.
    static func tag(in bytes: [UInt8]) -> Tag? {
        guard let count = count(in: bytes), count < 9 + tagCountMax else { return nil }
        return Tag(unchecked: String(decoding: bytes[9..<count], as: UTF8.self))
    }

    package static func hash(of tag: UnsafeRawBufferPointer) -> UInt64 { stableHash(tag, seed: 3) }
}
