package import TapedeckModel

/// The kind of an entry in a server's log or in a message.
package enum SyncEntryKind: UInt8, Sendable {
    /// The canonical bytes of an event or of a range stub.
    case event = 1
    /// A receipt of an earlier lineage.
    case receipt = 2
    /// The sequence number of an event that the device already has; used only in responses to
    /// pulls.
    case reference = 3
}

extension [UInt8] {
    /// Appends an entry: its kind, the length of its body, and the body.
    package mutating func appendEntry(_ kind: SyncEntryKind, _ body: UnsafeRawBufferPointer) {
        append(kind.rawValue)
        appendLittleEndian(UInt32(body.count))
        append(contentsOf: body)
    }

    /// Appends an entry that contains a receipt.
    package mutating func appendEntry(_ receipt: Receipt) {
        var body: [UInt8] = []
        body.append(receipt)
        body.withUnsafeBytes { appendEntry(.receipt, $0) }
    }
}

/// Iterates over consecutive entries in bytes that it does not own.
package struct SyncEntryReader {
    private var reader: ByteReader

    package init(_ bytes: UnsafeRawBufferPointer) { reader = ByteReader(bytes) }

    /// An entry read in place, valid only as long as the underlying bytes are.
    package struct Entry {
        package let kind: SyncEntryKind
        package let body: UnsafeRawBufferPointer
    }

    /// The number of bytes that precede an entry's body.
    package static let headCount = 5

    package var isAtEnd: Bool { reader.isAtEnd }

    /// Returns the next entry, or nil at the end or if the bytes are malformed.
    package mutating func next() -> Entry? {
        guard let raw = reader.littleEndian(UInt8.self), let kind = SyncEntryKind(rawValue: raw),
            let count = reader.littleEndian(UInt32.self), let body = reader.slice(Int(count))
        else { return nil }
        return Entry(kind: kind, body: body)
    }
}
