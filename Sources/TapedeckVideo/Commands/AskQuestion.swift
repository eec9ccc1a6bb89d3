public import TapedeckModel
public import TapedeckProjections

/// Asks a user a question.
///
/// ```swift
/// let ask = try AskQuestion("7", text: "Why is the sky blue?")
/// try await store.decide { try ask.decide(VideoQueries($0)) }
/// ```
public struct AskQuestion: Sendable {
    /// The event to record.
    public let question: QuestionAsked

    /// Creates the command.
    ///
    /// - Parameters:
    ///   - receiver: The id of the user to ask.
    ///   - text: The question.
    ///
    /// Throws `ModelError`: `.invalidPayload` if the text is blank, `.tooLarge` if it is too long.
    public init(_ receiver: String, text: String) throws(ModelError) {
        question = try QuestionAsked.with { ($0.receiver, $0.text) = (receiver, text) }.normalized()
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The user is unknown.
        case unknownUser

        /// The error message.
        public var message: String { "unknown user" }

        /// The error code, `.notFound`.
        public var code: ErrorCode { .notFound }

        /// A hint for the user.
        public var hint: String? { "sync with the remote that has the user, or check the id" }
    }

    /// Returns the question, or nothing while the same question to the same user is pending.
    ///
    /// Throws a `Refusal`; `ModelError` with `.signInRequired` if the store now belongs to another
    /// account; or errors from reading the store. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let account = try queries.requireDeviceAccount(at: Whale.system)
        guard try queries.shownProfile(question.receiver) != nil else { throw Refusal.unknownUser }
        return try queries.isAsking(question, as: account) ? [] : [question]
    }
}

extension VideoQueries {
    /// Returns whether an account's same question to the same user is pending.
    fileprivate func isAsking(
        _ question: QuestionAsked, as account: DeviceAccount
    ) throws -> Bool {
        let state = try reader.state(of: projections.users, key: Tag("user", question.receiver))
        return state?.asked.contains {
            $0.text == question.text && !account.isOthers($0.event)
        } ?? false
    }
}
