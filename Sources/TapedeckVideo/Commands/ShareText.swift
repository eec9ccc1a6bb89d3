internal import TapedeckModel
internal import TapedeckProjections

/// The text that an app proposes for a share; the user may change it.
public struct ShareText: Hashable, Sendable, Encodable {
    /// The video's key.
    public var video: String
    /// The destination.
    public var destination: String
    /// The text: the video's title, the address of its page, and the name of the sharer.
    public var text: String
    /// The length of the text, as the destination counts it.
    public var characters: Int
    /// The maximum length; nil if the destination has no limit.
    @NullWhenNil public var charactersMax: Int?

    /// The maximum length of text shared on Twitter, in Unicode scalars.
    public static let twitterCharactersMax = 140
    private static let ellipsis = "…"

    /// Returns the maximum length of text shared to a destination, in Unicode scalars; nil if there
    /// is no limit.
    public static func charactersMax(at destination: String) -> Int? {
        destination == "twitter" ? twitterCharactersMax : nil
    }

    /// Creates the proposed text.
    ///
    /// The address is the remote's short link, if there is one, or else the address of the video's
    /// page at its provider. If the text is too long for the destination, the title is truncated,
    /// and if that is not enough, the sharer is omitted.
    ///
    /// - Parameters:
    ///   - title: The video's title; nil if it is unknown.
    ///   - sharer: The name of the sharer, with an "@" if it is a name on Twitter; nil if it is
    ///     unknown.
    ///   - shortLink: The remote's short address of the video's page; nil to use the provider's
    ///     address.
    init(
        of video: VideoKey, titled title: String?, at shortLink: String? = nil,
        by sharer: String?, to destination: String
    ) {
        let link = (shortLink ?? video.pageURL).map { " on \($0)" } ?? ""
        let name = sharer.map { " via \($0)" } ?? ""
        let limit = ShareText.charactersMax(at: destination)
        text =
            ShareText.fitting(title, link + name, limit)
            ?? ShareText.fitting(title, link, limit) ?? String(link.dropFirst(" on ".count))
        self.video = video.text
        self.destination = destination
        characters = text.unicodeScalars.count
        charactersMax = limit
    }

    /// Returns the title followed by the rest of the text, with the title truncated to fit the
    /// limit; nil if not even one character of the title fits.
    private static func fitting(_ title: String?, _ rest: String, _ limit: Int?) -> String? {
        let words = title?.split(whereSeparator: \.isWhitespace).joined(separator: " ") ?? ""
        func text(_ title: String) -> String { "\"\(title)\"\(rest)" }
        let whole = words.isEmpty ? "Great video\(rest)" : text(words)
        guard let limit, whole.unicodeScalars.count > limit else { return whole }
        var short = words
        while short.popLast() != nil, !short.isEmpty {
            let cut = text(short + ellipsis)
            if cut.unicodeScalars.count <= limit { return cut }
        }
        return nil
    }

    /// Returns the text without the address of the video's page, for a remote that adds its own
    /// address.
    package static func withoutLink(_ text: String, to video: VideoKey) -> String {
        guard let link = video.pageURL else { return text }
        for form in [" on \(link)", " \(link)", link] {
            guard let found = text.firstRange(of: form) else { continue }
            // A longer address may begin with the same characters.
            let next = text[found.upperBound...].first
            guard next?.isWhitespace ?? true else { continue }
            return String(text[..<found.lowerBound] + text[found.upperBound...])
        }
        return text
    }
}

extension VideoQueries {
    /// Returns the text that an app proposes for a share.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - destination: `twitter`, `facebook`, `tumblr` or `email`.
    ///
    /// Throws `ModelError` with `.invalidVideo` or, for an unknown destination, `.invalidPayload`,
    /// and `ShareVideo.Refusal` if the video is unknown. Costs a few lookups.
    public func shareText(of video: String, to destination: String) throws -> ShareText {
        try VideoShared.check(destination)
        return try shareText(of: VideoKey(video), to: destination)
    }

    func shareText(of video: VideoKey, to destination: String) throws -> ShareText {
        let state = try requireKnown(video)
        let broadcast = try state.flatMap { try winner(of: video, $0) }
        return ShareText(
            of: video,
            titled: try state?.shownTitle?.utf8Text ?? submission(video: video.text)?.title,
            at: broadcast?.shortLink?.utf8Text, by: broadcast.flatMap { sharer(of: $0) },
            to: destination)
    }

    /// Returns the state of a video in the video list; nil if only other lists contain the video.
    ///
    /// Throws `ShareVideo.Refusal` if the video is not on any of the store's lists.
    @discardableResult
    func requireKnown(_ video: VideoKey) throws -> VideoList.State? {
        let state = try reader.state(of: projections.videos, key: video.tag)
        if let state, state.broadcasts > 0 { return state }
        if try submission(video: video.text) != nil { return state }
        let lists = try reader.state(of: projections.lists, key: video.tag)?.lists ?? 0
        guard lists > 0 else { throw ShareVideo.Refusal.unknownVideo }
        return state
    }

    /// Returns the name of the sharer of a broadcast; a name on Twitter begins with one "@".
    private func sharer(of broadcast: BroadcastRecord) -> String? {
        guard let told = broadcast.sharer?.utf8Text else { return nil }
        let name = String(told.drop { $0 == "@" }).lowercased()
        guard !name.isEmpty else { return nil }
        let isHandle =
            (1...15).contains(name.utf8.count)
            && name.utf8.allSatisfy { VideoKey.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
        return broadcast.origin?.utf8Text == "twitter" && isHandle ? "@\(name)" : name
    }
}
