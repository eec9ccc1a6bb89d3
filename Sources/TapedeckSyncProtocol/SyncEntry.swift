package import TapedeckModel

/// What an entry of a server's log, or of a message about it, holds.
package enum SyncEntryKind: UInt8, Sendable {
    /// An event's canonical bytes.
    case event = 1
    /// A receipt of an earlier lineage.
    case receipt = 2
    /// The sequence of an event that the reader has itself; in answers to pulls only.
    case reference = 3
}

extension [UInt8] {
    /// Appends an entry: its kind, the length of its body, the body.
    package mutating func appendEntry(_ kind: SyncEntryKind, _ body: UnsafeRawBufferPointer) {
        append(kind.rawValue)
        appendLittleEndian(UInt32(body.count))
        append(contentsOf: body)
    }

    /// Appends an entry that holds a receipt.
    package mutating func appendEntry(_ receipt: Receipt) {
        var body: [UInt8] = []
        body.append(receipt)
        body.withUnsafeBytes { appendEntry(.receipt, $0) }
    }
}

/// Walks entries that stand back to back; bytes from outside.
package struct SyncEntryReader {
    private var reader: ByteReader

    package init(_ bytes: UnsafeRawBufferPointer) { reader = ByteReader(bytes) }

    /// An entry in place, good for as long as the bytes are.
    package struct Entry {
        package let kind: SyncEntryKind
        package let body: UnsafeRawBufferPointer
    }

    /// Bytes in front of an entry's body.
    package static let headCount = 5

    package var isAtEnd: Bool { reader.isAtEnd }

    /// The next entry; nil where the bytes are not one, or at their end.
    package mutating func next() -> Entry? {
        guard let raw = reader.littleEndian(UInt8.self), let kind = SyncEntryKind(rawValue: raw),
            let count = reader.littleEndian(UInt32.self), let body = reader.slice(Int(count))
        else { return nil }
        return Entry(kind: kind, body: body)
    }
}
