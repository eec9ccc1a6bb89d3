public import TapedeckModel
public import TapedeckProjections

/// Likes an answer, or no longer.
///
/// ```swift
/// let like = LikeAnswer("4711")
/// try await store.decide { try like.decide(VideoQueries($0)) }
/// ```
public struct LikeAnswer: Sendable {
    /// The answer's id.
    public var answer: String
    /// Whether from now on.
    public var isOn: Bool

    /// Makes the command.
    public init(_ answer: String, isOn: Bool = true) {
        self.answer = answer
        self.isOn = isOn
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

    /// What is to be recorded; nothing where the answer is liked so already, here or at a remote: a remote counts
    /// every like, also a second one of the same user.
    ///
    /// Throws a `Refusal`, or what reading throws. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        guard let known = try queries.answer(answer) else { throw Refusal.unknownAnswer }
        guard known.isLiked != isOn else { return [] }
        return [LikeToggled.with { ($0.answer, $0.isOn) = (answer, isOn) }]
    }
}
