internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The highest ids known when a request is sent.
///
/// The object that the request creates gets a higher id.
struct WhaleBaseline: Hashable {
    /// The highest id of a comment or of a question.
    var number: Int64
    /// The highest id of an answer.
    var answer: Int64

    /// The baseline of a request that another device may have sent.
    ///
    /// Whale's lists contain no times, so every row may be the effect of the request.
    static let ofOthers = WhaleBaseline(0).text

    init(_ number: UInt64, answer: UInt64 = 0) {
        self.number = Int64(clamping: number)
        self.answer = Int64(clamping: answer)
    }

    /// Parses `text`; missing or invalid ids are 0.
    init(_ text: String) {
        let parts = text.split(separator: "/").map { Int64($0) ?? 0 }
        number = parts.first ?? 0
        answer = parts.count > 1 ? parts[1] : 0
    }

    var text: String { "\(number)/\(answer)" }
}

/// The requests for each intent, and the confirmations in the server's responses.
enum WhaleDelivery {
    static let notAsked = "Whale accepts an answer only from the user who was asked"
    private static let videoTypes = [
        "mov": "video/quicktime", "m4v": "video/x-m4v", "mpeg4": "video/mp4",
    ]
    private static let pictureTypes = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "png": "image/png",
    ]

    // MARK: - Requests

    static func comment(
        _ comment: CommentPosted, on answer: String, _ newest: UInt64
    ) -> Delivery {
        let list = WhaleConnector.comments(on: answer)
        var delivery = Delivery(
            safety: .probe, request: post(list, [.init("comment", comment.text)]),
            probe: WhaleConnector.get(list), baseline: WhaleBaseline(newest).text)
        delivery.baselineOfOthers = WhaleBaseline.ofOthers
        return delivery
    }

    static func like(of answer: String, by user: String) -> Delivery {
        let list = WhaleConnector.likes(of: answer)
        var delivery = Delivery(
            safety: .probe,
            request: post(
                list, [.init("like[answer_id]", answer), .init("like[user_id]", user)]),
            probe: WhaleConnector.get(list))
        // Sending the request twice would create two likes, and a like cannot be removed.
        delivery.isAskedFirst = true
        return delivery
    }

    static func picture(_ edit: ProfileEdited) -> Delivery {
        Delivery(
            safety: .natural,
            request: RemoteRequest(
                "PATCH", WhaleConnector.root + "users/\(RemoteRequest.segment(edit.user))",
                body: .form([.init("image_url", edit.imageURL)])))
    }

    static func question(_ question: QuestionAsked, _ known: KnownNumbers) -> Delivery {
        var delivery = Delivery(
            safety: .probe,
            request: post(
                "questions",
                [.init("receiver_id", question.receiver), .init("content", question.text)]),
            probe: WhaleConnector.get("questions"),
            baseline: WhaleBaseline(known.question, answer: known.answer).text)
        delivery.baselineOfOthers = WhaleBaseline.ofOthers
        return delivery
    }

    static func answer(
        _ recorded: AnswerRecorded, video: String, thumbnail: String, _ known: KnownNumbers
    ) -> Delivery {
        func part(
            _ name: String, _ ending: String, _ types: [String: String], _ path: String
        ) -> RemoteRequest.Part {
            RemoteRequest.Part(
                name: name, fileName: "\(name).\(ending)",
                contentType: types[ending] ?? "application/octet-stream", path: path)
        }
        let list = "questions/\(RemoteRequest.segment(recorded.question))/answers"
        var delivery = Delivery(
            safety: .probe,
            request: RemoteRequest(
                "POST", WhaleConnector.root + list,
                body: .parts([
                    part("video", recorded.videoExtension, videoTypes, video),
                    part("thumbnail", recorded.thumbnailExtension, pictureTypes, thumbnail),
                ])),
            probe: WhaleConnector.get("answers"),
            baseline: WhaleBaseline(0, answer: known.answer).text)
        delivery.baselineOfOthers = WhaleBaseline.ofOthers
        delivery.settling = WhaleConnector.uploadSettling
        return delivery
    }

    /// Refuses a file whose type would make the upload fail on the server without an error.
    static func refusal(of recorded: AnswerRecorded) -> DeliveryPlan? {
        func refusal(_ what: String, _ types: [String: String]) -> DeliveryPlan {
            .refused(
                .invalidPayload,
                "Whale accepts a \(what) only as \(types.keys.sorted().joined(separator: ", "))")
        }
        if videoTypes[recorded.videoExtension] == nil { return refusal("video", videoTypes) }
        if pictureTypes[recorded.thumbnailExtension] == nil {
            return refusal("picture", pictureTypes)
        }
        return nil
    }

    private static func post(_ list: String, _ fields: [RemoteRequest.Field]) -> RemoteRequest {
        RemoteRequest("POST", WhaleConnector.root + list, body: .form(fields))
    }

    // MARK: - Responses

    static func confirm(
        _ response: RemoteResponse, of intent: Intent
    ) throws(SyncFailure) -> Confirmation {
        let type = intent.event.type
        // The server has stored the like, but fails to render the response.
        if type == LikeToggled.eventType, response.status == 500 { return .askLater }
        if type == AnswerRecorded.eventType {
            if response.status == 422 { throw SyncFailure(.conditionFailed, "\(own: notAsked)") }
            if let failure = response.failure { throw failure }
            return .askLater
        }
        if let failure = WhaleAnswer.failure(response) { throw failure }
        if type == ProfileEdited.eventType {
            // A response with content that is not an object comes from another server.
            if response.status == 204 { return Confirmation() }
            let element = try WhaleAnswer.element(response)
            return (try? confirmation(of: element, intent, response)) ?? Confirmation()
        }
        // The request succeeded but its response cannot be read, so look for the new object.
        guard let element = try? WhaleAnswer.element(response),
            let confirmation = try? confirmation(of: element, intent, response)
        else { return .askLater }
        return confirmation
    }

    /// Returns the confirmation of an intent from the row that it created.
    static func confirmation(
        of row: JSONElement, _ intent: Intent, _ response: RemoteResponse
    ) throws(IngestRefusal) -> Confirmation {
        var observations = WhaleObservations(response)
        let kind: String
        let event = intent.event.id
        switch intent.event.type {
        case CommentPosted.eventType:
            kind = "comment"
            try observations.addComment(row, postedAs: event)
        case LikeToggled.eventType:
            kind = "like"
            observations.add(try WhaleDocuments.like(row), at: row.path)
        case QuestionAsked.eventType:
            kind = "question"
            try observations.addQuestion(row, postedAs: event)
        case ProfileEdited.eventType:
            kind = "user"
            observations.add(try WhaleDocuments.user(row), at: row.path)
        default:
            kind = "answer"
            observations.add(try WhaleDocuments.answer(row, postedAs: event), at: row.path)
            try observations.addQuestion(try row.member("question"))
        }
        // A comment and a like on the same answer may have the same id, so the remote id includes
        // the kind.
        return Confirmation(
            remoteID: "\(kind)/\(try row.id())", observations: observations.result.proposals)
    }
}
