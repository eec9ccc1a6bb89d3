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
    private let video: VideoKey
    private let destinations: [String]
    private let text: String?
    private let recipients: [String]

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - destinations: `twitter`, `facebook`, `tumblr` or `email`; at least one.
    ///   - text: The text to share; nil for the proposed text, see `ShareText`.
    ///   - recipients: The addresses for `email`.
    ///
    /// Throws `ModelError`: `.invalidVideo`, and `.invalidPayload` for missing or unknown
    /// destinations, for `email` without an address, for an invalid address, and for empty text.
    public init(
        _ video: String, to destinations: [String], text: String? = nil, recipients: [String] = []
    ) throws(ModelError) {
        self.video = try VideoKey(video)
        for address in recipients { try FieldChecks.email(address, "recipient") }
        if let text, text.allSatisfy(\.isWhitespace) {
            throw FieldChecks.invalid("text", "is empty")
        }
        var seen: Set<String> = []
        let once = recipients.filter { seen.insert(EmailAddress.name(of: $0)).inserted }
        self.destinations = Set(destinations).sorted()
        self.text = text
        self.recipients = once
        _ = try VideoShared.with {
            $0.video = video
            $0.destinations = destinations
            $0.to = once.joined(separator: VideoShared.recipientSeparator)
        }.normalized()
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The video is not on any of the store's lists.
        case unknownVideo

        /// The error message.
        public var message: String { "unknown video" }

        /// The error code, `.notFound`.
        public var code: ErrorCode { .notFound }

        /// A hint for the user.
        public var hint: String? { "sync with the remote that has the video, or check the key" }
    }

    /// Returns an intent for each destination.
    ///
    /// Throws a `Refusal`, and `ModelError`: `.tooLarge` if the text is too long for Twitter,
    /// `.signInRequired` if the store now belongs to another account. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Shelby.system)
        return try destinations.map { destination in
            let proposed = try queries.shareText(of: video, to: destination)
            let text = self.text ?? proposed.text
            if let limit = proposed.charactersMax, text.unicodeScalars.count > limit {
                throw ModelError(
                    .tooLarge,
                    "text exceeds Twitter's limit of \(limit) characters by "
                        + "\(text.unicodeScalars.count - limit)",
                    hint: "shorten the text")
            }
            return try VideoShared.with {
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
}
