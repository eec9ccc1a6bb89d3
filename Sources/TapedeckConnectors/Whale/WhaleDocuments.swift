internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// A page of one of Whale's lists.
struct WhalePage {
    /// The rows that are objects.
    private(set) var rows: [JSONElement] = []
    /// The rows that are not objects; each string contains a path and a reason.
    private(set) var refused: [FailureText] = []
    /// The page's number, starting at 0.
    private(set) var number: Int64
    private(set) var total: Int64

    /// The number of the next page; nil on the last page.
    var next: Int64? { number + 1 < total ? number + 1 : nil }

    /// Parses a successful response.
    ///
    /// - Parameter requested: The number of the requested page; nil to trust the number in the
    ///   response.
    ///
    /// Throws `.unavailable` also if a page before the last one is empty: if it ended the list, all
    /// later rows would count as removed.
    init(_ response: RemoteResponse, requested: Int64? = nil) throws(SyncFailure) {
        let page = try WhaleAnswer.element(response)
        do throws(IngestRefusal) {
            guard let data = try page.list("data"),
                let number = try page.integer("page", in: 0...Int64(Int32.max)).value,
                let total = try page.integer("total_pages", in: 0...Int64(Int32.max)).value
            else { throw IngestRefusal("$", .invalidPayload, "lacks one of these members") }
            self.number = requested ?? number
            self.total = total
            guard !data.isEmpty || next == nil else {
                throw IngestRefusal(
                    "$.data", .invalidPayload, "is empty, but there are \(total) pages")
            }
            for (index, value) in data.enumerated() {
                do throws(IngestRefusal) {
                    rows.append(try JSONElement(value, at: "$.data[\(index)]"))
                } catch {
                    refused.append(error.line)
                }
            }
        } catch {
            throw .unexpected(
                "Whale",
                expected: "a page of a list, an object with data, page and total_pages",
                error.line)
        }
    }
}

/// A response from Whale's server, as a JSON object.
enum WhaleAnswer {
    /// Returns the response as an object, or throws the failure that its status reports.
    static func element(_ response: RemoteResponse) throws(SyncFailure) -> JSONElement {
        if let failure = failure(response) { throw failure }
        guard let element = try? object(response) else {
            throw .unexpected("Whale", expected: "a JSON object")
        }
        return element
    }

    /// Returns the reason a request failed; nil on success.
    ///
    /// A 422 names the invalid fields: `{"errors":{"email":["has already been taken"]}}`.
    static func failure(_ response: RemoteResponse) -> SyncFailure? {
        guard response.status == 422, let element = try? object(response),
            let errors = try? element.object("errors").value
        else { return response.failure }
        let texts = errors.names.flatMap { name in
            ((try? errors.texts(name).value) ?? []).map { "\(name) \($0)" }
        }
        return SyncFailure(
            .remoteError, "Whale refused the request: \(texts.joined(separator: ", ").prefix(300))")
    }

    private static func object(_ response: RemoteResponse) throws -> JSONElement {
        try JSONElement(
            JSONParser.parse(response.body, bytesMax: IngestResource.documentBytesMax), at: "$")
    }
}

/// Converts the objects of Whale's API to observations.
///
/// In these objects, field names are inconsistent, times are missing, and a count of 0 is null.
enum WhaleDocuments {
    /// Reads a user, either in full or as embedded in a question or an answer.
    static func user(_ element: JSONElement) throws(IngestRefusal) -> UserObserved {
        var user = UserObserved()
        user.user = String(try element.id())
        if let value = try element.text("username").value { user.username = value }
        if let value = try element.text("first_name").value { user.firstName = value }
        if let value = try element.text("last_name").value { user.lastName = value }
        if let value = try element.url("image_url").value { user.imageURL = value }
        if let value = try element.text("email").value { user.email = value }
        return user
    }

    /// Reads the counts of a user.
    ///
    /// Call this only for responses that include the counts. In these responses, null means 0; in
    /// others, it means that the count is unknown.
    static func counts(
        _ element: JSONElement, isOwn: Bool
    ) throws(IngestRefusal) -> UserObserved {
        var user = UserObserved()
        var cleared = ClearedFields()
        user.user = String(try element.id())
        if isOwn { user.isOwn = true }
        if let value = cleared.take("followerCount", try element.count("follower_count")) {
            user.followerCount = value
        }
        if let value = cleared.take("followingCount", try element.count("following_count")) {
            user.followingCount = value
        }
        user.cleared = cleared.sorted
        return user
    }

    static func question(
        _ element: JSONElement, postedAs: EventID? = nil
    ) throws(IngestRefusal) -> QuestionObserved {
        var question = QuestionObserved()
        question.question = String(try element.id())
        question.text = try element.text("content").value ?? ""
        question.sender = String(try element.member("sender").id())
        question.receiver = String(try element.member("receiver").id())
        if let postedAs { question.postedAs = postedAs.description }
        return question
    }

    static func answer(
        _ element: JSONElement, postedAs: EventID? = nil
    ) throws(IngestRefusal) -> AnswerObserved {
        var answer = AnswerObserved()
        var cleared = ClearedFields()
        answer.answer = String(try element.id())
        answer.question = String(try element.member("question").id())
        if let value = try element.url("video_url").value { answer.videoURL = value }
        if let value = try element.url("thumbnail_url").value { answer.thumbnailURL = value }
        // The API's names are inconsistent: `likes_count` but `comment_count`.
        if let value = cleared.take("likeCount", try element.count("likes_count")) {
            answer.likeCount = value
        }
        if let value = cleared.take("commentCount", try element.count("comment_count")) {
            answer.commentCount = value
        }
        answer.cleared = cleared.sorted
        if let postedAs { answer.postedAs = postedAs.description }
        return answer
    }

    /// The prefix that identifies Whale's comments among the comments of all systems.
    static let commentPrefix = "whale:"

    static func comment(
        _ element: JSONElement, postedAs: EventID? = nil
    ) throws(IngestRefusal) -> CommentObserved {
        var comment = CommentObserved()
        comment.comment = "\(commentPrefix)\(try element.id())"
        comment.answer = String(try element.id("answer_id"))
        comment.text = try element.text("content").value ?? ""
        if let commenter = try element.object("commenter").value {
            let user = try user(commenter)
            let name = [user.firstName, user.lastName].filter { !$0.isEmpty }
            let author = user.username.isEmpty ? name.joined(separator: " ") : user.username
            if !author.isEmpty { comment.author = author }
        }
        if let postedAs { comment.postedAs = postedAs.description }
        return comment
    }

    static func like(_ element: JSONElement) throws(IngestRefusal) -> LikeObserved {
        var like = LikeObserved()
        like.like = String(try element.id())
        like.answer = String(try element.id("answer_id"))
        like.user = String(try element.id("user_id"))
        return like
    }
}

extension JSONElement {
    /// Returns a count.
    fileprivate func count(_ name: String) throws(IngestRefusal) -> JSONField<UInt64> {
        switch try integer(name, in: 0 ... .max) {
        case .absent: .absent
        case .null: .null
        case .value(let value): .value(UInt64(value))
        }
    }

    /// Returns a required member that is an object.
    func member(_ name: String) throws(IngestRefusal) -> JSONElement {
        guard let element = try object(name).value else {
            throw IngestRefusal("\(path).\(name)", .invalidPayload, "is missing")
        }
        return element
    }
}

/// The observations of a response, added row by row.
struct WhaleObservations {
    private(set) var result = IngestResult()
    private let context: IngestContext

    init(_ response: RemoteResponse) {
        context = IngestContext(show: nil, observedAt: response.date)
    }

    /// The refused rows; each string contains a path and a reason.
    var refused: [FailureText] { result.refused.map(\.line) }

    /// Adds an observation and returns its index, or nil if it is a duplicate or was refused.
    @discardableResult
    mutating func add(_ observation: some Observation, at path: String) -> Int? {
        let count = result.proposals.count
        context.propose(observation, at: path, in: &result)
        return result.proposals.count > count ? count : nil
    }

    /// Runs `body` and records its error as a refusal, so that one bad row does not affect the
    /// other rows.
    mutating func read(_ body: (inout WhaleObservations) throws(IngestRefusal) -> Void) {
        do throws(IngestRefusal) {
            try body(&self)
        } catch {
            result.refuse(error)
        }
    }

    /// Adds the user in the named member, if the member is present.
    mutating func addUser(
        _ name: String, of element: JSONElement
    ) throws(IngestRefusal) {
        guard let user = try element.object(name).value else { return }
        add(try WhaleDocuments.user(user), at: user.path)
    }

    mutating func addQuestion(
        _ element: JSONElement, postedAs: EventID? = nil
    ) throws(IngestRefusal) {
        add(try WhaleDocuments.question(element, postedAs: postedAs), at: element.path)
        try addUser("sender", of: element)
        try addUser("receiver", of: element)
    }

    mutating func addComment(
        _ element: JSONElement, postedAs: EventID? = nil
    ) throws(IngestRefusal) {
        add(try WhaleDocuments.comment(element, postedAs: postedAs), at: element.path)
        try addUser("commenter", of: element)
    }
}
