public import TapedeckModel
public import TapedeckProjections

/// Says something in the chat of a video.
///
/// ```swift
/// let post = try PostChatMessage("youtube:aqz-KE-bpKQ", text: "The rabbit wins.")
/// try await store.decide { try post.decide(VideoQueries($0)) }
/// ```
public struct PostChatMessage: Sendable {
    /// What is recorded.
    public let message: ChatMessagePosted

    /// Makes the command for a text.
    ///
    /// - Parameters:
    ///   - video: the video's key, or any URL form of it.
    ///   - text: what is said.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload` for a text that is blank, `.tooLarge`.
    public init(_ video: String, text: String) throws(ModelError) {
        message = try ChatMessagePosted.with { ($0.video, $0.text) = (video, text) }.normalized()
    }

    /// Makes the command for a file, which is at its address already.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload`, `.tooLarge`.
    public init(_ video: String, file: ChatFile) throws(ModelError) {
        message = try ChatMessagePosted.with { ($0.video, $0.file) = (video, file) }.normalized()
    }

    /// What happens: the message, said by the account with which the user is signed in.
    ///
    /// Throws `ModelError` with `.signInRequired` where nobody is. Costs a look-up.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        var message = message
        message.sender = try queries.requireSignedIn().account
        return [message]
    }
}
