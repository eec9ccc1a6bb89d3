internal import TapedeckModel
internal import TapedeckProjections

/// A page of questions.
public struct QuestionsPage: Codable, Hashable, Sendable {
    /// The questions, the one asked last first.
    public var questions: [QuestionEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// A question that one user asks another.
public struct QuestionEntry: Codable, Hashable, Sendable {
    /// How far a question is.
    public enum State: String, Codable, Sendable {
        /// It was asked here, and no remote shows it.
        case asking
        /// Nobody has answered it; or what was handed in was refused.
        case open
        /// It was answered here, and no remote shows the answer.
        case answering
        /// There is an answer.
        case answered
    }

    /// The question's id; while it is being asked, that of the event by which it was.
    public var id: String
    /// What is asked.
    @NullWhenNil public var text: String?
    /// The id of the user who asks.
    @NullWhenNil public var sender: String?
    /// The name of the user who asks.
    @NullWhenNil public var senderName: String?
    /// The id of the user who is asked.
    @NullWhenNil public var receiver: String?
    /// The name of the user who is asked.
    @NullWhenNil public var receiverName: String?
    /// How far it is.
    public var state: State
    /// The id of its answer.
    @NullWhenNil public var answer: String?
}

extension VideoQueries {
    /// Questions, the one asked last first; in front of them those that no remote shows yet.
    ///
    /// - Parameters:
    ///   - receiver: only what this user is asked; nil for everybody.
    ///   - isPending: whether those that have an answer are left out.
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

    /// Questions to the user of the account, the one asked last first.
    ///
    /// Remotes tell of everybody's questions; these are those for me. Throws `ModelError` with
    /// `.signInRequired` where nobody knows who that is.
    ///
    /// - Parameter isPending: whether those that have an answer are left out.
    public func ownQuestions(
        isPending: Bool = true, limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> QuestionsPage {
        try questions(
            to: requireOwnUser(), isPending: isPending, limit: limit, cursor: cursor)
    }

    /// Those asked here that no remote shows; of one receiver they are few, so all lie in one page.
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

    /// The question of a row of those that no remote shows.
    func askedQuestion(_ row: Row) throws -> QuestionEntry {
        let (receiver, asked) = try StateReader.read(row.value) {
            (reader) throws(ModelError) in
            (try reader.string(), try AskedQuestion(decoding: &reader))
        }
        return try entry(asked, receiver)
    }

    private func entry(_ asked: AskedQuestion, _ receiver: String) throws -> QuestionEntry {
        let own = try ownUser()
        return QuestionEntry(
            id: asked.event.description, text: asked.text, sender: own,
            senderName: try own.flatMap(username), receiver: receiver,
            receiverName: try username(receiver),
            state: .asking)
    }

    /// The question of a row of those that a remote shows.
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
