internal import Foundation
public import TapedeckModel
public import TapedeckProjections

/// Shares a video with others, by the rules of the app of 2012.
///
/// ```swift
/// let share = try ShareVideo("youtube:aqz-KE-bpKQ", to: ["twitter", "email"], recipients: ["ada@example.org"])
/// try await store.decide { try share.decide(VideoQueries($0)) }
/// ```
///
/// Each destination is an intent of its own, so that each has an outcome of its own.
public struct ShareVideo: Sendable {
    /// The longest text for Twitter, in Unicode scalars.
    public static let twitterCharactersMax = 140
    /// What stands for the address of the video until the remote puts it in.
    public static let linkPlaceholder = "[shelby.tv_short_link]"

    private let video: VideoKey
    private let destinations: [String]
    private let text: String?
    private let recipients: [String]

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - video: the video's key, or any URL form of it.
    ///   - destinations: `twitter`, `facebook`, `tumblr` or `email`; at least one.
    ///   - text: what is said; nil says what the app of 2012 proposed.
    ///   - recipients: the addresses for `email`.
    ///
    /// Throws `ModelError`: `.invalidVideo`, and `.invalidPayload` for no or an unknown destination, for an
    /// e-mail without an address, and for what is no address.
    public init(
        _ video: String, to destinations: [String], text: String? = nil, recipients: [String] = []
    ) throws(ModelError) {
        self.video = try VideoKey(video)
        for address in recipients where !VideoShared.isAddress(address) {
            throw FieldChecks.invalid("to", "holds \"\(address.prefix(80))\", which is no address")
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

    /// What happens: an intent for each destination.
    ///
    /// Throws `ModelError` with `.tooLarge` for a text that is too long for Twitter, and says by how much.
    /// Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let text = try self.text ?? queries.shareText(of: video)
        let excess = text.unicodeScalars.count - ShareVideo.twitterCharactersMax
        if destinations.contains("twitter"), excess > 0 {
            throw ModelError(
                .tooLarge, "text is \(excess) characters too long for twitter",
                hint: "twitter takes \(ShareVideo.twitterCharactersMax)")
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
    /// What stands between two addresses in `to`.
    static let recipientSeparator = ","

    /// The addresses in `to`.
    var recipients: [String] {
        to.split(separator: VideoShared.recipientSeparator)
            .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
    }

    /// One "@" with something on both sides, and nothing that parts addresses.
    static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            && !text.contains { $0.isWhitespace || $0 == "," || $0 == ";" }
    }
}

extension VideoQueries {
    /// What the app of 2012 proposed to say of a video: its title, where it is, and from whom it came, with an
    /// "@" where that is a name of Twitter.
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
