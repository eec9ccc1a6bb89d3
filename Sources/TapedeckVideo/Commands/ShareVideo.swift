internal import Foundation
public import TapedeckModel
public import TapedeckProjections

/// Shares a video with others, following the rules of the 2012 app.
///
/// ```swift
/// let share = try ShareVideo("youtube:aqz-KE-bpKQ", to: ["twitter", "email"], recipients: ["ada@example.org"])
/// try await store.decide { try share.decide(VideoQueries($0)) }
/// ```
///
/// Each destination is a separate intent with its own outcome.
public struct ShareVideo: Sendable {
    /// The maximum length of a text shared on Twitter, in Unicode scalars.
    public static let twitterCharactersMax = 140
    /// The placeholder that the remote replaces with the video's URL.
    public static let linkPlaceholder = "[shelby.tv_short_link]"

    private let video: VideoKey
    private let destinations: [String]
    private let text: String?
    private let recipients: [String]

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: the video's key, or any of its URLs.
    ///   - destinations: `twitter`, `facebook`, `tumblr` or `email`; at least one.
    ///   - text: the text to share; nil for the text that the 2012 app would have proposed.
    ///   - recipients: the addresses for `email`.
    ///
    /// Throws `ModelError`: `.invalidVideo`, and `.invalidPayload` for missing or unknown
    /// destinations, for `email` without an address, and for an invalid address.
    public init(
        _ video: String, to destinations: [String], text: String? = nil, recipients: [String] = []
    ) throws(ModelError) {
        self.video = try VideoKey(video)
        for address in recipients where !VideoShared.isAddress(address) {
            throw FieldChecks.invalid(
                "to", "contains \"\(address.prefix(80))\", which is not an email address")
        }
        var seen: Set<String> = []
        let once = recipients.filter { seen.insert($0.lowercased()).inserted }
        self.destinations = Set(destinations).sorted()
        self.text = text
        self.recipients = once
        _ = try VideoShared.with {
            $0.video = video
            $0.destinations = destinations
            $0.to = once.joined(separator: VideoShared.recipientSeparator)
        }.normalized()
    }

    /// Returns an intent for each destination.
    ///
    /// Throws `ModelError` with `.tooLarge` if the text is too long for Twitter. The cost is a few
    /// lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let text = try self.text ?? queries.shareText(of: video)
        let excess = text.unicodeScalars.count - ShareVideo.twitterCharactersMax
        if destinations.contains("twitter"), excess > 0 {
            throw ModelError(
                .tooLarge,
                "text exceeds Twitter's limit of \(ShareVideo.twitterCharactersMax) characters by "
                    + "\(excess)",
                hint: "shorten the text")
        }
        return try destinations.map { destination in
            try VideoShared.with {
                $0.video = video.text
                $0.destinations = [destination]
                $0.text = text
                guard destination == "email" else { return }
                $0.to = recipients.joined(separator: VideoShared.recipientSeparator)
            }.normalized()
        }
    }
}

extension VideoShared {
    /// The separator between addresses in `to`.
    static let recipientSeparator = ","

    /// The addresses in `to`.
    var recipients: [String] {
        to.split(separator: VideoShared.recipientSeparator)
            .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
    }

    /// Returns whether a string has the form of an email address: one "@" with text on both sides,
    /// and no white space, comma or semicolon.
    static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            && !text.contains { $0.isWhitespace || $0 == "," || $0 == ";" }
    }
}

extension VideoQueries {
    /// Returns the text that the 2012 app would have proposed for a video: its title, its link and
    /// the name of the sharer, with an "@" before a Twitter name.
    func shareText(of video: VideoKey) throws -> String {
        let state = try reader.state(of: projections.videos, key: video.tag)
        let title = state?.title.map { "\"\($0.utf8Text)\"" } ?? "Great video"
        let text = "\(title) on \(ShareVideo.linkPlaceholder)"
        guard let sharer = state?.sharer?.utf8Text, !sharer.isEmpty, let winner = state?.winner
        else { return text }
        let origin = try reader.item(
            of: projections.videos, key: video.tag, name: BroadcastItems.name(winner)
        ).flatMap { try BroadcastRecord(decoding: $0).origin }
        let at = origin?.utf8Text == "twitter" ? "@" : ""
        return "\(text) via \(at)\(sharer.lowercased())"
    }
}
