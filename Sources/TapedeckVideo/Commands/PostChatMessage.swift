public import TapedeckModel
public import TapedeckProjections

/// Posts a message in the chat of a video.
///
/// ```swift
/// let post = try PostChatMessage("youtube:aqz-KE-bpKQ", text: "The rabbit wins.")
/// try await store.decide { try post.decide(VideoQueries($0)) }
/// ```
public struct PostChatMessage: Sendable {
    /// The event to record.
    public let message: ChatMessagePosted

    /// Creates the command for a text message.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - text: The message.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload` if the text is blank, `.tooLarge` if
    /// it is too long.
    public init(_ video: String, text: String) throws(ModelError) {
        message = try ChatMessagePosted.with { ($0.video, $0.text) = (video, text) }.normalized()
    }

    /// Creates the command for a message with a file that is already available at its URL.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload`, `.tooLarge`.
    public init(_ video: String, file: ChatFile) throws(ModelError) {
        message = try ChatMessagePosted.with { ($0.video, $0.file) = (video, file) }.normalized()
    }

    /// Returns the message, with the signed-in account as its sender.
    ///
    /// Throws `ModelError` with `.signInRequired` if the user is not signed in. The cost is one
    /// lookup.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        var message = message
        message.sender = try queries.requireSignedIn().account
        return [message]
    }
}
