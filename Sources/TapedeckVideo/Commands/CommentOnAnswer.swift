public import TapedeckModel
public import TapedeckProjections

/// Says something about an answer.
///
/// ```swift
/// let comment = try CommentOnAnswer("4711", text: "Well said.")
/// try await store.decide { try comment.decide(VideoQueries($0)) }
/// ```
public struct CommentOnAnswer: Sendable {
    /// What is recorded.
    public let comment: CommentPosted

    /// Makes the command.
    ///
    /// Throws `ModelError`: `.invalidPayload` for a text that is blank, `.tooLarge`.
    public init(_ answer: String, text: String) throws(ModelError) {
        comment = try CommentPosted.with { ($0.answer, $0.text) = (answer, text) }.normalized()
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// Nobody has told of the answer.
        case unknownAnswer

        /// What does not allow it.
        public var message: String { "nobody has told of this answer" }

        /// `.notFound`.
        public var code: ErrorCode { .notFound }

        /// What to do.
        public var hint: String? { "sync with the remote that has the answer, or name another" }
    }

    /// What is to be recorded: the comment, said by the user of the account where it is known who that is.
    ///
    /// The same text twice is two comments. Throws a `Refusal`, or what reading throws. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        guard try queries.answer(comment.answer) != nil else { throw Refusal.unknownAnswer }
        var comment = comment
        if let author = try queries.ownUser().flatMap(queries.username) { comment.author = author }
        return [comment]
    }
}
