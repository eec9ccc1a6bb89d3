internal import TapedeckModel
internal import TapedeckProjections

/// A page of questions.
public struct QuestionsPage: Codable, Hashable, Sendable {
    /// The questions, newest first.
    public var questions: [QuestionEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// A question from one user to another.
public struct QuestionEntry: Codable, Hashable, Sendable {
    /// The state of a question.
    public enum State: String, Codable, Sendable {
        /// The question was asked here, and no remote shows it yet.
        case asking
        /// The question was asked here, and a remote refused it.
        case refused
        /// The question is unanswered, or the submitted answer was refused.
        case open
        /// The question was answered here, and no remote shows the answer yet.
        case answering
        /// The question has an answer.
        case answered
    }

    /// The question's id or, until a remote shows the question, the id of the event that asked it.
    public var id: String
    /// The text of the question.
    @NullWhenNil public var text: String?
    /// The id of the user who asked.
    @NullWhenNil public var sender: String?
    /// The name of the user who asked.
    @NullWhenNil public var senderName: String?
    /// The id of the user who was asked.
    @NullWhenNil public var receiver: String?
    /// The name of the user who was asked.
    @NullWhenNil public var receiverName: String?
    /// The state of the question.
    public var state: State
    /// The id of the answer.
    @NullWhenNil public var answer: String?
    /// The error code if the question was refused.
    @NullWhenNil public var code: String?
    /// The error message if the question was refused.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Returns the questions that no remote shows yet, followed by the questions that remotes show,
    /// newest first.
    ///
    /// - Parameters:
    ///   - receiver: The user who was asked; nil for all users.
    ///   - isPending: Whether to leave out answered questions.
    public func questions(
        to receiver: String? = nil, isPending: Bool = true,
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> QuestionsPage {
        let bounds = receiver.map { receiver in
            let lower = RowKey().text(receiver)
            return (lower: lower, upper: lower.end)
        }
        let table = QuestionList.Table.listed(isPending: isPending, byReceiver: receiver != nil)
        let (questions, next) = try page(
            .askedQuestions, of: { try askedQuestions(to: receiver, $0, $1) },
            then: { limit, cursor in
                let (rows, next) = try page(
                    of: projections.questions, table: table,
                    isPending ? .pendingQuestions : .questions, limit: limit, cursor: cursor,
                    within: bounds)
                return (try rows.map { try question($0) }, next)
            }, limit: limit, cursor: cursor)
        return QuestionsPage(questions: questions, next: next)
    }

    /// Returns the questions to the account's user, newest first.
    ///
    /// Remotes report questions addressed to any user; this method returns only questions addressed
    /// to the account's user. Throws `ModelError` with `.signInRequired` if the account's user is
    /// unknown.
    ///
    /// - Parameter isPending: Whether to leave out answered questions.
    public func ownQuestions(
        isPending: Bool = true, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> QuestionsPage {
        try questions(
            to: requireOwnUser(), isPending: isPending, limit: limit, cursor: cursor)
    }

    /// Returns questions that were asked here and that no remote shows yet.
    ///
    /// If a receiver is given, all of the questions are on one page, because there are only a few
    /// of them.
    private func askedQuestions(
        to receiver: String?, _ limit: Int, _ cursor: String?
    ) throws -> ([QuestionEntry], next: String?) {
        if let receiver {
            let asked = try reader.state(of: projections.users, key: Tag("user", receiver))?.asked
            guard cursor == nil, let asked else { return ([], nil) }
            return (try asked.reversed().map { try entry($0, receiver) }, nil)
        }
        let (rows, next) = try page(
            of: projections.users, table: UserList.Table.asked, .askedQuestions, limit: limit,
            cursor: cursor)
        return (try rows.map(askedQuestion), next)
    }

    /// Converts a row to a question that no remote shows yet.
    func askedQuestion(_ row: Row) throws -> QuestionEntry {
        let (receiver, asked) = try StateReader.read(row.value) {
            (reader) throws(ModelError) in
            (try reader.string(), try AskedQuestion(decoding: &reader))
        }
        return try entry(asked, receiver)
    }

    private func entry(_ asked: AskedQuestion, _ receiver: String) throws -> QuestionEntry {
        let account = try deviceAccount(at: Whale.system)
        let sender = try account.author(of: asked.event) ?? (account.entry == nil ? ownUser() : nil)
        return QuestionEntry(
            id: asked.event.description, text: asked.text, sender: sender,
            senderName: try sender.flatMap(username), receiver: receiver,
            receiverName: try username(receiver),
            state: asked.refusal == nil ? .asking : .refused, code: asked.refusal?.code,
            message: asked.refusal?.message)
    }

    /// Converts a row to a question that a remote shows.
    func question(_ row: Row) throws -> QuestionEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try QuestionList.State(reading: &reader)
        }
        let question = state.question
        return QuestionEntry(
            id: question.question, text: question.text, sender: question.sender,
            senderName: try username(question.sender), receiver: question.receiver,
            receiverName: try username(question.receiver),
            state: state.answer != nil ? .answered : state.isAnswering ? .answering : .open,
            answer: state.answer)
    }
}
