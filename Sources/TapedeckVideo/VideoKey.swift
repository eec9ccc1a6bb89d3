public import TapedeckModel

/// A video for ever, wherever it was met: its provider and its id there, as `youtube:dQw4w9WgXcQ`.
///
/// Every URL form of one video gives the same key, so that broadcasts of it meet under one tag.
public struct VideoKey: Hashable, Sendable, CustomStringConvertible {
    /// The provider's name in lower case, such as `youtube`.
    public let provider: String
    /// The video's id at its provider; upper and lower case differ.
    public let id: String

    /// The longest text that is read as a key or a URL, in UTF-8 bytes.
    public static let textBytesMax = 4_096
    /// The longest name of a provider, in bytes.
    public static let providerBytesMax = 32
    /// The longest id, in bytes.
    public static let idBytesMax = 128

    /// `provider:id`.
    public var text: String { "\(provider):\(id)" }

    /// `provider:id`.
    public var description: String { text }

    /// `video/provider:id`.
    public var tag: Tag { Tag(unchecked: "video/\(provider):\(id)") }

    /// Reads a key, or a URL of a video at YouTube, Vimeo or Dailymotion in any form.
    ///
    /// Throws `ModelError` with `.invalidVideo` when the text names no video, or `.tooLarge` when
    /// it is longer than `textBytesMax`.
    public init(_ text: String) throws(ModelError) {
        guard text.utf8.count <= VideoKey.textBytesMax else {
            throw ModelError(
                .tooLarge,
                "a video of \(text.utf8.count) bytes; the limit is \(VideoKey.textBytesMax)")
        }
        let bytes = text.utf8.drop(while: VideoKey.isSpace)
        let trimmed = String(text[bytes.startIndex...]).trimmingTrailingSpace()
        guard !trimmed.isEmpty else { throw VideoKey.unknown("an empty text") }
        guard trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw VideoKey.unknown("a text with spaces, control or non-ASCII characters")
        }
        if let colon = trimmed.utf8.firstIndex(of: UInt8(ascii: ":")),
            trimmed.utf8[..<colon].allSatisfy(VideoKey.isProviderByte),
            !trimmed[trimmed.utf8.index(after: colon)...].hasPrefix("//")
        {
            try self.init(
                provider: String(trimmed[..<colon]),
                id: String(trimmed[trimmed.utf8.index(after: colon)...]))
            return
        }
        guard let key = VideoURL(trimmed)?.videoKey() else {
            throw VideoKey.unknown("\"\(trimmed.prefix(80))\"")
        }
        self = key
    }

    /// Makes a key of a provider's name and the video's id there.
    ///
    /// The id is taken as given: of its form only what would break a key is refused, for YouTube
    /// anything but letters, digits, `_` and `-`, for Vimeo anything but a number. Throws
    /// `ModelError` with `.invalidVideo`.
    public init(provider: String, id: String) throws(ModelError) {
        let provider = provider.lowercased()
        guard (1...VideoKey.providerBytesMax).contains(provider.utf8.count),
            provider.utf8.allSatisfy(VideoKey.isProviderByte),
            !VideoKey.schemes.contains(provider)
        else { throw VideoKey.unknown("a provider named \"\(provider.prefix(40))\"") }
        let isKnown =
            switch provider {
            case "youtube": id.utf8.allSatisfy(VideoKey.isYouTubeByte)
            case "vimeo":
                id.utf8.allSatisfy { (0x30...0x39).contains($0) }
                    && id.utf8.first != UInt8(ascii: "0")
            default: id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            }
        guard isKnown, (1...VideoKey.idBytesMax).contains(id.utf8.count) else {
            throw VideoKey.unknown("an id \"\(id.prefix(40))\" at \(provider)")
        }
        self.init(uncheckedProvider: provider, id: id)
    }

    /// A key that was checked when it was recorded.
    package init(uncheckedProvider provider: String, id: String) {
        self.provider = provider
        self.id = id
    }

    /// The key of a tag `video/provider:id`.
    package init(tag: Tag) {
        let name = tag.name
        let provider = name.prefix { $0 != ":" }
        self.init(
            uncheckedProvider: String(provider), id: String(name.dropFirst(provider.count + 1)))
    }

    /// Letters, digits, `_` and `-`.
    static func isYouTubeByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x30...0x39).contains(byte)
    }

    // No dots: `youtube.com:443/watch` is a host with a port, not a key.
    private static func isProviderByte(_ byte: UInt8) -> Bool { isYouTubeByte(byte) }

    /// What stands before a colon in URLs and is no provider.
    private static let schemes: Set<String> = [
        "http", "https", "ftp", "file", "data", "javascript", "mailto", "about", "blob", "urn",
    ]

    private static func unknown(_ what: String) -> ModelError {
        ModelError(
            .invalidVideo, "\(what) names no video", hint: formHint)
    }

    /// What a video is asked for as.
    static let formHint = "give provider:id, such as youtube:dQw4w9WgXcQ, or the URL of one video"

    /// What may stand around a key.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension String {
    fileprivate func trimmingTrailingSpace() -> String {
        var text = self
        while let last = text.utf8.last, VideoKey.isSpace(last) { text.removeLast() }
        return text
    }
}
