public import TapedeckModel

/// The permanent identity of a video: its provider and the provider's id for it, such as
/// `youtube:dQw4w9WgXcQ`.
///
/// All forms of a video's URL yield the same key, so all broadcasts of the video have the same tag.
public struct VideoKey: Hashable, Sendable, CustomStringConvertible {
    /// The name of the provider in lower case, such as `youtube`.
    public let provider: String
    /// The provider's id for the video; case matters.
    public let id: String

    /// The maximum length of a string that is parsed as a key or a URL, in UTF-8 bytes.
    public static let textBytesMax = 4_096
    /// The maximum length of a provider's name, in bytes.
    public static let providerBytesMax = 32
    /// The maximum length of an id, in bytes.
    public static let idBytesMax = 128

    /// `provider:id`.
    public var text: String { "\(provider):\(id)" }

    /// `provider:id`.
    public var description: String { text }

    /// `video/provider:id`.
    public var tag: Tag { Tag(unchecked: "video/\(provider):\(id)") }

    /// The address of the video's page at its provider; nil for an unknown provider.
    public var pageURL: String? {
        switch provider {
        case "youtube": "https://youtu.be/\(id)"
        case "vimeo": "https://vimeo.com/\(id)"
        case "dailymotion": "https://www.dailymotion.com/video/\(id)"
        default: nil
        }
    }

    /// Parses a key, or any form of the URL of a video on YouTube, Vimeo or Dailymotion.
    ///
    /// Throws `ModelError` with `.invalidVideo` if the string does not name a video, and with
    /// `.tooLarge` if it is longer than `textBytesMax`.
    public init(_ text: String) throws(ModelError) {
        guard text.utf8.count <= VideoKey.textBytesMax else {
            throw ModelError(
                .tooLarge,
                "the video's key or URL is \(text.utf8.count) bytes long; the limit is "
                    + "\(VideoKey.textBytesMax)")
        }
        let trimmed = text.trimmingSpace()
        guard !trimmed.isEmpty else { throw VideoKey.unknown("the key or URL is empty") }
        guard trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw VideoKey.unknown(
                "the key or URL contains spaces, control characters or non-ASCII characters")
        }
        if let colon = trimmed.utf8.firstIndex(of: UInt8(ascii: ":")),
            trimmed.utf8[..<colon].allSatisfy(VideoKey.isProviderByte),
            !trimmed.utf8[trimmed.utf8.index(after: colon)...].starts(with: "//".utf8)
        {
            let provider = String(trimmed[..<colon])
            let id = trimmed[trimmed.utf8.index(after: colon)...]
            // `youtube:watch?v=ID` names a video, but not by its id.
            guard !id.utf8.contains(where: VideoKey.endsID) || provider.lowercased() != "youtube"
            else { throw VideoKey.unknown("\"\(id.prefix(40))\" is not a valid youtube id") }
            try self.init(provider: provider, id: String(id))
            return
        }
        guard let key = VideoURL(trimmed)?.videoKey() else {
            throw VideoKey.unknown("\"\(trimmed.prefix(80))\"")
        }
        self = key
    }

    /// Creates a key from a provider's name and the provider's id for the video.
    ///
    /// Some remotes list videos under ids that their providers cannot have issued. Such a video
    /// also has a key, but `isWellFormed` is false and the video cannot be played. On YouTube, an
    /// id ends before `&`, `?` or `#`; elsewhere, bytes that are not visible ASCII characters are
    /// percent-encoded. Throws `ModelError` with `.invalidVideo` if the id is empty or too long, or
    /// the provider is invalid.
    public init(provider: String, id: String) throws(ModelError) {
        let isLowercase = !provider.utf8.contains { (0x41...0x5A).contains($0) }
        let provider = isLowercase ? provider : provider.lowercased()
        let end = provider == "youtube" ? id.utf8.firstIndex(where: VideoKey.endsID) : nil
        let id = VideoKey.encoded(end.map { String(id[..<$0]) } ?? id)
        guard (1...VideoKey.providerBytesMax).contains(provider.utf8.count),
            provider.utf8.allSatisfy(VideoKey.isProviderByte),
            !VideoKey.schemes.contains(provider)
        else { throw VideoKey.unknown("\"\(provider.prefix(40))\" is not a provider") }
        guard (1...VideoKey.idBytesMax).contains(id.utf8.count) else {
            throw VideoKey.unknown("\"\(id.prefix(40))\" is not a valid \(provider) id")
        }
        self.init(uncheckedProvider: provider, id: id)
    }

    /// Whether the provider could have issued the id: on YouTube, letters, digits, `_` and `-`; on
    /// Vimeo, a number without leading zeros; elsewhere, anything.
    public var isWellFormed: Bool {
        switch provider {
        case "youtube": id.utf8.allSatisfy(VideoKey.isYouTubeByte)
        case "vimeo":
            id.utf8.allSatisfy { (0x30...0x39).contains($0) } && id.utf8.first != UInt8(ascii: "0")
        default: true
        }
    }

    private static func endsID(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// Returns an id in which every byte that is not a visible ASCII character is percent-encoded.
    ///
    /// A leading `//` is also encoded, because a key must not look like a URL.
    private static func encoded(_ id: String) -> String {
        func isPlain(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }
        if id.utf8.allSatisfy(isPlain), !id.utf8.starts(with: "//".utf8) { return id }
        let digits = Array("0123456789ABCDEF")
        var text = ""
        for (index, byte) in id.utf8.enumerated() {
            if isPlain(byte), !(index == 0 && id.hasPrefix("//")) {
                text.append(Character(UnicodeScalar(byte)))
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return text
    }

    /// Creates a key that was checked when it was recorded.
    package init(uncheckedProvider provider: String, id: String) {
        self.provider = provider
        self.id = id
    }

    /// Creates the key of a tag `video/provider:id`.
    package init(tag: Tag) {
        let name = tag.name
        let provider = name.prefix { $0 != ":" }
        self.init(
            uncheckedProvider: String(provider), id: String(name.dropFirst(provider.count + 1)))
    }

    /// Returns whether a byte is a letter, a digit, `_` or `-`.
    static func isYouTubeByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x30...0x39).contains(byte)
    }

    // Dots are excluded: `youtube.com:443/watch` is a host with a port, not a key.
    private static func isProviderByte(_ byte: UInt8) -> Bool { isYouTubeByte(byte) }

    /// URL schemes, which are not accepted as providers.
    private static let schemes: Set<String> = [
        "http", "https", "ftp", "file", "data", "javascript", "mailto", "about", "blob", "urn",
    ]

    private static func unknown(_ what: String) -> ModelError {
        ModelError(
            .invalidVideo, "not a video: \(what)", hint: formHint)
    }

    /// A hint about the accepted forms of a video.
    static let formHint = "use provider:id, such as youtube:dQw4w9WgXcQ, or the URL of one video"

    /// Returns whether a byte is whitespace, which may surround a key.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension String {
    fileprivate func trimmingSpace() -> String {
        let first = utf8.firstIndex { !VideoKey.isSpace($0) } ?? endIndex
        let last = utf8.lastIndex { !VideoKey.isSpace($0) }
        let end = last.map { utf8.index(after: $0) } ?? endIndex
        return first == startIndex && end == endIndex ? self : String(self[first..<end])
    }
}
