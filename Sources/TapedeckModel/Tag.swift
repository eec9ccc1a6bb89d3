/// An entity that an event is about, as `kind/name`, such as `video/youtube:dQw4w9WgXcQ`.
///
/// The log indexes events by tag, projections route events by tag, and append conditions refer to
/// tags.
public struct Tag: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The complete tag, `kind/name`.
    public let text: String

    /// The maximum length of a tag, in UTF-8 bytes.
    public static let lengthMax = 400

    /// Creates a tag from a kind (lowercase letters, digits, `-`) and a name (any nonempty
    /// string).
    ///
    /// Throws `ModelError` with code `.invalidTag` if the tag is longer than `lengthMax` bytes, or
    /// if the kind or the name is empty or malformed.
    public init(_ kind: String, _ name: some StringProtocol) throws(ModelError) {
        try self.init("\(kind)/\(name)")
    }

    /// Parses `kind/name`; throws like `init(_:_:)`.
    public init(_ text: String) throws(ModelError) {
        let bytes = text.utf8
        guard bytes.count <= Tag.lengthMax else {
            throw ModelError(
                .invalidTag, "the tag is \(bytes.count) bytes long; the limit is \(Tag.lengthMax)",
                hint: "shorten the name, or use its hash")
        }
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")), slash > bytes.startIndex,
            bytes.index(after: slash) < bytes.endIndex,
            bytes[..<slash].allSatisfy(Tag.isKindByte)
        else {
            throw ModelError(
                .invalidTag, "\"\(text)\" is not a tag", hint: "write kind/name, such as show/118")
        }
        self.text = text
    }

    /// Creates a tag that was validated when it was recorded.
    package init(unchecked text: String) { self.text = text }

    /// The part before the first slash.
    public var kind: Substring { text[..<slash] }

    /// The part after the first slash.
    public var name: Substring { text[text.utf8.index(after: slash)...] }

    /// The index of the first slash.
    ///
    /// The search compares bytes, not characters, because a name may begin with a combining mark,
    /// which forms one character with the slash.
    private var slash: String.Index { text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex }

    /// The complete tag.
    public var description: String { text }

    /// Compares the UTF-8 bytes, so that the order is the same on every platform.
    public static func < (left: Tag, right: Tag) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Returns whether external bytes are the UTF-8 bytes of a valid tag.
    package static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= lengthMax, let slash = bytes.firstIndex(of: UInt8(ascii: "/")),
            slash > 0,
            slash + 1 < bytes.count, bytes[..<slash].allSatisfy(isKindByte)
        else { return false }
        return bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
    }

    private static func isKindByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
    }
}
