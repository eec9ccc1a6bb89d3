public import TapedeckModel
public import TapedeckProjections

/// Comments on an answer.
///
/// ```swift
/// let comment = try CommentOnAnswer("4711", text: "Well said.")
/// try await store.decide { try comment.decide(VideoQueries($0)) }
/// ```
public struct CommentOnAnswer: Sendable {
    /// The event to record.
    public let comment: CommentPosted

    /// Creates the command.
    ///
    /// Throws `ModelError`: `.invalidPayload` if the text is blank, `.tooLarge` if it is too long.
    public init(_ answer: String, text: String) throws(ModelError) {
        comment = try CommentPosted.with { ($0.answer, $0.text) = (answer, text) }.normalized()
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The answer is unknown.
        case unknownAnswer

        /// The error message.
        public var message: String { "unknown answer" }

        /// The error code, `.notFound`.
        public var code: ErrorCode { .notFound }

        /// A hint for the user.
        public var hint: String? { "sync with the remote that has the answer, or check the id" }
    }

    /// Returns the comment, with the account's user as its author if that user is known.
    ///
    /// Posting the same text twice creates two comments. Throws a `Refusal`; `ModelError` with
    /// `.signInRequired` if the store now belongs to another account; or errors from reading the store.
    /// The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Whale.system)
        guard try queries.answer(comment.answer) != nil else { throw Refusal.unknownAnswer }
        var comment = comment
        if let author = try queries.ownUser().flatMap(queries.username) { comment.author = author }
        return [comment]
    }
}
