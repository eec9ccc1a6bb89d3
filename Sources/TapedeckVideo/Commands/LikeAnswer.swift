public import TapedeckModel
public import TapedeckProjections

/// Likes or unlikes an answer.
///
/// ```swift
/// let like = LikeAnswer("4711")
/// try await store.decide { try like.decide(VideoQueries($0)) }
/// ```
public struct LikeAnswer: Sendable {
    /// The id of the answer.
    public var answer: String
    /// Whether to like the answer.
    public var isOn: Bool

    /// Creates the command.
    public init(_ answer: String, isOn: Bool = true) {
        self.answer = answer
        self.isOn = isOn
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

    /// Returns the event to record, or nothing if the answer is already liked or unliked as
    /// requested, locally or on a remote.
    ///
    /// Repeated likes are avoided because remotes count each like, even from the same user. Throws
    /// a `Refusal`; `ModelError` with `.signInRequired` if the store now belongs to another account;
    /// or errors from reading the store. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try queries.requireDeviceAccount(at: Whale.system)
        guard let known = try queries.answer(answer) else { throw Refusal.unknownAnswer }
        guard known.isLiked != isOn else { return [] }
        return [LikeToggled.with { ($0.answer, $0.isOn) = (answer, isOn) }]
    }
}
