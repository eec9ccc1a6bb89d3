/// The name of a kind of event, in the past tense: `WatchLaterToggled`.
public struct EventType: Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The name.
    public let name: String

    /// The longest name in UTF-8 bytes.
    public static let lengthMax = 120

    /// Wraps a name that the program itself wrote; checked where it is recorded.
    public init(stringLiteral name: String) { self.name = name }

    /// Wraps a name from outside.
    ///
    /// Throws `ModelError` with code `.invalidType` unless it is 1 to `lengthMax` letters, digits,
    /// dots or underscores.
    public init(_ name: String) throws(ModelError) {
        self.name = name
        guard isWellFormed else {
            throw ModelError(
                .invalidType, "\"\(name.prefix(40))\" is not the name of an event type",
                hint: "use letters, digits, dots and underscores, such as WatchLaterToggled")
        }
    }

    /// Whether the name is one that may be recorded.
    package var isWellFormed: Bool {
        var name = name
        return name.withUTF8 { EventType.isWellFormed(UnsafeRawBufferPointer($0)) }
    }

    package static func isWellFormed(_ name: UnsafeRawBufferPointer) -> Bool {
        (1...EventType.lengthMax).contains(name.count) && name.allSatisfy(EventType.isNameByte)
    }

    /// The name.
    public var description: String { name }

    /// By UTF-8 bytes.
    public static func < (left: EventType, right: EventType) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x30...0x39).contains(byte) || byte == 0x2E || byte == 0x5F
    }
}

/// How compaction may shorten the events of a type; a property of the type, carried by each event.
public struct Retention: RawRepresentable, Hashable, Sendable {
    /// The byte in the record.
    public let rawValue: UInt8

    /// Wraps the byte; unknown values are kept and never compacted.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Every event is kept.
    public static let keepAll = Retention(rawValue: 0)
    /// The last of a key and window stands for all.
    public static let latest = Retention(rawValue: 1)
    /// The greatest of a key and window stands for all.
    public static let max = Retention(rawValue: 2)
    /// The sum over a key and window stands for all.
    public static let sum = Retention(rawValue: 3)
}

/// How the payload's bytes are to be read.
public struct PayloadEncoding: RawRepresentable, Hashable, Sendable {
    /// The byte in the record.
    public let rawValue: UInt8

    /// Wraps the byte; an unknown encoding is kept, synced and skipped by folds.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Protobuf wire format, or whatever the type's own `Event` conformance writes.
    public static let plain = PayloadEncoding(rawValue: 0)
    /// Sealed with the key that the envelope names.
    public static let sealed = PayloadEncoding(rawValue: 1)
}
