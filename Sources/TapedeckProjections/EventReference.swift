@_spi(Core) package import TapedeckModel

/// A recorded event on its way into a fold: its record in place, and what all devices agree on.
package struct EventReference {
    package var record: RecordView
    /// The identity under which the event was first known.
    package var id: EventID
    /// The effective stamp.
    package var stamp: Stamp
    package var order: FoldOrder

    /// - Parameter effectiveStamp: the stamp of a receipt where that is less than the event's own.
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
            // By its own name: of two histories that parted, two events may share stamp and first identity.
            order = FoldOrder(stamp: stamp, id: name)
        }
    }
}

/// A key's bytes in the tables of a views file.
///
/// Stable hash (8 bytes, big-endian), length (1), then the tag, cut with a digest at its end when it is
/// long. So tables are ordered by hash, and a rebuild that takes keys by ranges of their hash writes
/// every table in order.
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

    /// How many bytes of a longer key are the key of a tag; nil where they are none.
    static func count(in bytes: [UInt8]) -> Int? {
        guard bytes.count > 8, bytes.count >= 9 + Int(bytes[8]) else { return nil }
        return 9 + Int(bytes[8])
    }

    /// The tag whose key a longer key begins with; nil where only its beginning stands there.
    static func tag(in bytes: [UInt8]) -> Tag? {
        guard let count = count(in: bytes), count < 9 + tagCountMax else { return nil }
        return Tag(unchecked: String(decoding: bytes[9..<count], as: UTF8.self))
    }

    package static func hash(of tag: UnsafeRawBufferPointer) -> UInt64 { stableHash(tag, seed: 3) }
}
