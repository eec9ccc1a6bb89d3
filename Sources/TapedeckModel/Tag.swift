/// An entity that an event concerns, as `kind/name`: `video/youtube:dQw4w9WgXcQ`, `show/118`.
///
/// Tags are what the log indexes, what projections route by and what append conditions ask about.
public struct Tag: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The whole tag, `kind/name`.
    public let text: String

    /// The longest tag in UTF-8 bytes.
    public static let lengthMax = 400

    /// Makes a tag of a kind (lower-case letters, digits, `-`) and a name (anything not empty).
    ///
    /// Throws `ModelError` with code `.invalidTag` when the whole is longer than `lengthMax` bytes,
    /// or a part is empty or malformed.
    public init(_ kind: String, _ name: some StringProtocol) throws(ModelError) {
        try self.init("\(kind)/\(name)")
    }

    /// Reads `kind/name`; see `init(_:_:)` for what is refused.
    public init(_ text: String) throws(ModelError) {
        let bytes = text.utf8
        guard bytes.count <= Tag.lengthMax else {
            throw ModelError(
                .invalidTag, "a tag of \(bytes.count) bytes is longer than \(Tag.lengthMax)",
                hint: "shorten the name, or tag its hash")
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

    /// A tag that was checked when it was recorded.
    package init(unchecked text: String) { self.text = text }

    /// What stands before the first slash.
    public var kind: Substring { text[..<slash] }

    /// What stands behind the first slash.
    public var name: Substring { text[text.utf8.index(after: slash)...] }

    /// A byte and no character: a name may begin with a mark, which makes one character with the slash.
    private var slash: String.Index { text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex }

    /// The whole tag.
    public var description: String { text }

    /// By Unicode scalars, so that the order is the same everywhere.
    public static func < (left: Tag, right: Tag) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Whether bytes from outside are the UTF-8 of a tag.
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
