public import TapedeckModel
public import TapedeckProjections

/// Asks somebody something.
///
/// ```swift
/// let ask = try AskQuestion("7", text: "Why is the sky blue?")
/// try await store.decide { try ask.decide(VideoQueries($0)) }
/// ```
public struct AskQuestion: Sendable {
    /// What is recorded.
    public let question: QuestionAsked

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - receiver: the id of the user who is asked.
    ///   - text: what is asked.
    ///
    /// Throws `ModelError`: `.invalidPayload` for a text that is blank, `.tooLarge`.
    public init(_ receiver: String, text: String) throws(ModelError) {
        question = try QuestionAsked.with { ($0.receiver, $0.text) = (receiver, text) }.normalized()
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// Nobody has told of the user.
        case unknownUser

        /// What does not allow it.
        public var message: String { "nobody has told of this user" }

        /// `.notFound`.
        public var code: ErrorCode { .notFound }

        /// What to do.
        public var hint: String? { "sync with the remote that has the user, or name another" }
    }

    /// What is to be recorded; nothing while the same question to the same user waits to be asked.
    ///
    /// Throws a `Refusal`, or what reading throws. Costs a look-up.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        guard try queries.shownProfile(question.receiver) != nil else { throw Refusal.unknownUser }
        return try queries.isAsking(question) ? [] : [question]
    }
}

extension VideoQueries {
    /// Whether a question waits to be asked.
    fileprivate func isAsking(_ question: QuestionAsked) throws -> Bool {
        let state = try reader.state(of: projections.users, key: Tag("user", question.receiver))
        return state?.asked.contains { $0.text == question.text } ?? false
    }
}
