/// The name of an event type, in the past tense, such as `WatchLaterToggled`.
public struct EventType: Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The name.
    public let name: String

    /// The maximum length of a name, in UTF-8 bytes.
    public static let lengthMax = 120

    /// Wraps a name from the program's own source code; the name is validated when an event is
    /// recorded.
    public init(stringLiteral name: String) { self.name = name }

    /// Validates and wraps a name from an external source.
    ///
    /// Throws `ModelError` with code `.invalidType` unless the name consists of 1 to `lengthMax`
    /// letters, digits, dots and underscores.
    public init(_ name: String) throws(ModelError) {
        self.name = name
        guard isWellFormed else {
            throw ModelError(
                .invalidType, "\"\(name.prefix(40))\" is not the name of an event type",
                hint: "use letters, digits, dots and underscores, as in WatchLaterToggled")
        }
    }

    /// Whether the name is valid.
    package var isWellFormed: Bool {
        var name = name
        return name.withUTF8 { EventType.isWellFormed(UnsafeRawBufferPointer($0)) }
    }

    package static func isWellFormed(_ name: UnsafeRawBufferPointer) -> Bool {
        (1...EventType.lengthMax).contains(name.count) && name.allSatisfy(EventType.isNameByte)
    }

    /// The name.
    public var description: String { name }

    /// Compares the UTF-8 bytes.
    public static func < (left: EventType, right: EventType) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x30...0x39).contains(byte) || byte == 0x2E || byte == 0x5F
    }
}

/// The rule by which compaction may remove events of a type.
///
/// The rule belongs to the type and is stored with each event.
public struct Retention: RawRepresentable, Hashable, Sendable {
    /// The byte stored in a record.
    public let rawValue: UInt8

    /// Wraps the byte; events with an unknown value are never compacted.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Every event is kept.
    public static let keepAll = Retention(rawValue: 0)
    /// The last event about a subject, such as a device, replaces the earlier events.
    public static let latest = Retention(rawValue: 1)
    /// The event with the greatest value replaces the other events about the same subject.
    public static let max = Retention(rawValue: 2)
    /// The events about a subject are replaced by their sum.
    public static let sum = Retention(rawValue: 3)
}

/// The encoding of a payload.
public struct PayloadEncoding: RawRepresentable, Hashable, Sendable {
    /// The byte stored in a record.
    public let rawValue: UInt8

    /// Wraps the byte; events with an unknown encoding are kept and synced, but skipped by folds.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The encoding that the type's `Event` conformance writes, usually protobuf.
    public static let plain = PayloadEncoding(rawValue: 0)
    /// Encrypted with the key that the envelope's `keyID` identifies.
    public static let sealed = PayloadEncoding(rawValue: 1)
}
