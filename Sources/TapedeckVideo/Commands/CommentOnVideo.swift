public import TapedeckModel
public import TapedeckProjections

/// Comments on a video.
///
/// ```swift
/// let comment = try CommentOnVideo("vimeo:1084537", text: "Well said.")
/// try await store.decide { try comment.decide(VideoQueries($0)) }
/// ```
public struct CommentOnVideo: Sendable {
    /// The event to record.
    public let comment: CommentPosted

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - text: The comment.
    ///
    /// Throws `ModelError`: `.invalidVideo`, `.invalidPayload` if the text is blank, `.tooLarge` if
    /// it is too long.
    public init(_ video: String, text: String) throws(ModelError) {
        comment = try CommentPosted.with { ($0.video, $0.text) = (video, text) }.normalized()
    }

    /// Returns the comment, with the nickname of the user's account as its author if a remote has
    /// shown that account.
    ///
    /// Posting the same text twice creates two comments. Throws `ShareVideo.Refusal` if the video is
    /// unknown; `ModelError` with `.signInRequired` if the store now belongs to another account; or
    /// errors from reading the store. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let own = try queries.requireDeviceAccount(at: Shelby.system).entry
        try queries.requireKnown(VideoKey(comment.video))
        var comment = comment
        if let own, own.nickname != own.account { comment.author = own.nickname }
        return [comment]
    }
}
