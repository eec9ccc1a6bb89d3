internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// Searches a page of a list for the object that a delivery may have created.
///
/// Rows are sorted newest first and ids increase, so an object created after the baseline has a
/// higher id and comes before the known rows. The search ends at a page whose rows were all known
/// when the baseline was recorded. If several identical rows are not yet claimed by other intents,
/// the row with the lowest id matches, so that two identical comments each find their own row.
struct WhaleSearch {
    private let response: RemoteResponse
    private let intent: Intent
    private let baseline: WhaleBaseline
    private let taken: Set<String>
    private let user: String

    init(
        _ response: RemoteResponse, _ intent: Intent, baseline: WhaleBaseline,
        taken: Set<String>, user: String
    ) {
        self.response = response
        self.intent = intent
        self.baseline = baseline
        self.taken = taken
        self.user = user
    }

    /// Returns the result of the search in the response to `probe`.
    func result(of probe: RemoteRequest?) throws(SyncFailure) -> ProbeResult {
        let page = try WhalePage(response)
        let list = String((probe?.path ?? "").dropFirst(WhaleConnector.root.count))
        do {
            switch intent.event.type {
            case CommentPosted.eventType:
                return try comment(intent.event.decode(CommentPosted.self), page, list)
            case QuestionAsked.eventType:
                return try question(intent.event.decode(QuestionAsked.self), page, list)
            case AnswerRecorded.eventType:
                return try answer(intent.event.decode(AnswerRecorded.self), page, list)
            default: return try like(page, list)
            }
        } catch let failure as SyncFailure {
            throw failure
        } catch {
            throw SyncFailure.unexpected(
                "Whale", expected: "a page of the list \(own: list)", "\(ForeignError.text(error))")
        }
    }

    private func like(_ page: WhalePage, _ list: String) throws -> ProbeResult {
        let own = page.rows.first { row in
            (try? row.id("user_id")).map { String($0) == user } ?? false
        }
        if let own { return .found(try confirmation(own)) }
        return next(page, list) ?? .missing
    }

    private func comment(
        _ comment: CommentPosted, _ page: WhalePage, _ list: String
    ) throws -> ProbeResult {
        let found = least("comment", page.rows, above: baseline.number) { row in
            try row.text("content").value == comment.text
                && String(row.member("commenter").id()) == user
        }
        if let found { return .found(try confirmation(found)) }
        return isKnown(page.rows, baseline.number) ? .missing : next(page, list) ?? .missing
    }

    /// An answered question moves from the list of questions to the list of answers.
    private func question(
        _ question: QuestionAsked, _ page: WhalePage, _ list: String
    ) throws -> ProbeResult {
        let isOfAnswers = list == "answers"
        let rows = isOfAnswers ? page.rows.compactMap { try? $0.member("question") } : page.rows
        let found = least("question", rows, above: baseline.number) { row in
            try row.text("content").value == question.text
                && String(row.member("sender").id()) == user
                && String(row.member("receiver").id()) == question.receiver
        }
        if let found { return .found(try confirmation(found)) }
        let number = isOfAnswers ? baseline.answer : baseline.number
        if !isKnown(page.rows, number), let next = next(page, list) { return next }
        return isOfAnswers ? .missing : .ask(WhaleConnector.get("answers"))
    }

    private func answer(
        _ recorded: AnswerRecorded, _ page: WhalePage, _ list: String
    ) throws -> ProbeResult {
        let found = page.rows.first { row in
            (try? row.member("question").id()).map { String($0) == recorded.question } ?? false
        }
        if let found { return .found(try confirmation(found)) }
        return isKnown(page.rows, baseline.answer) ? .missing : next(page, list) ?? .missing
    }

    // MARK: - Rows

    private func confirmation(_ row: JSONElement) throws(IngestRefusal) -> Confirmation {
        try WhaleDelivery.confirmation(of: row, intent, response)
    }

    /// Returns the matching row with the lowest id above `number` that no other intent has claimed.
    private func least(
        _ kind: String, _ rows: [JSONElement], above number: Int64,
        fits: (JSONElement) throws -> Bool
    ) -> JSONElement? {
        rows.filter { row in
            guard let id = try? row.id(), id > number, !taken.contains("\(kind)/\(id)") else {
                return false
            }
            return (try? fits(row)) ?? false
        }.min { ((try? $0.id()) ?? 0) < ((try? $1.id()) ?? 0) }
    }

    private func isKnown(_ rows: [JSONElement], _ number: Int64) -> Bool {
        rows.allSatisfy { ((try? $0.id()) ?? 0) <= number }
    }

    private func next(_ page: WhalePage, _ list: String) -> ProbeResult? {
        page.next.map { .ask(WhaleConnector.get(list, page: $0)) }
    }
}
