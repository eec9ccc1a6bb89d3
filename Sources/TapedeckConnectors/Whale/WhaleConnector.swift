package import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// The connector for Whale's API (`/api/v1`): questions, and answers in the form of videos.
///
/// Pages are numbered from 0. Lists are sorted newest first, by a time that the API does not show
/// and without a tie-break, so a page may repeat or miss rows. Known rows are therefore recognized
/// by id. Each pass reads every list to its end, and reads it again if rows may have moved.
/// Comments and likes are read only if an answer's counts have changed or differ from the numbers of
/// comments and likes here, and once a day. A known answer, question, comment or like that is missing
/// from a list was removed; see `removals`.
///
/// | intent | request | safety |
/// |---|---|---|
/// | comment | `POST /answers/{id}/comments` | probe: comments with an id above the highest known id |
/// | like | `POST /answers/{id}/likes` | probe, also before the request: each request inserts a like, and the response is 500 |
/// | unlike | no route | refused, unless the answer is not liked |
/// | follow, unfollow | no route | refused |
/// | picture of a profile | `PATCH /users/{id}` | natural |
/// | other profile fields | no route | stays in the store: not an intent for this remote |
/// | question | `POST /questions` | probe: the open questions, then the answered questions |
/// | answer | `POST /questions/{id}/answers` | probe: the response is 201 before the answer exists, even if the upload fails later |
///
/// | feed | contents |
/// |---|---|
/// | `sessions` | the account's own user, with counts |
/// | `users` | all users, without counts |
/// | `questions` | all users' unanswered questions |
/// | `answers` | all answers with their questions; leads to the two feeds below |
/// | `answers/{id}/comments`, `answers/{id}/likes` | the comments and likes of one answer |
package struct WhaleConnector: Connector {
    static let root = "/api/v1/"
    /// The number of rows requested per page; the server has no limit.
    static let rowsPerPage = 100
    /// The time, in milliseconds, within which an upload must become an answer.
    ///
    /// After this time an upload is treated as lost, because the server does not report failed
    /// uploads.
    static let uploadSettling: UInt64 = 600_000

    private let projections: VideoProjections
    private let blobs: BlobStore?

    /// Creates a connector that looks up state in `projections` and recorded answers in `blobs`.
    package init(_ projections: VideoProjections = .standard, blobs: BlobStore? = nil) {
        self.projections = projections
        self.blobs = blobs
    }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: Whale.system, rateCount: 40, rateWindow: 10_000, settling: 5_000,
            freshness: [10_000, 20_000, 40_000, 80_000, 120_000],
            intentKinds: ["answer", "question", "user"])
    }

    package var lookups: [any Projection] {
        [projections.answers, projections.questions, projections.users]
    }

    // MARK: - Login

    /// Logs in with an email address and a password; the token arrives in the response headers.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.last else {
            guard !secrets.user.isEmpty, !secrets.password.isEmpty else {
                throw SyncFailure(
                    .unauthorized, "Whale requires an email address and a password",
                    hint:
                        "run storectl login NAME --user ADDRESS with the password on standard input"
                )
            }
            return .send(
                RemoteRequest(
                    "POST", WhaleConnector.root + "sessions",
                    body: .form([
                        .init("email", secrets.user), .init("password", secrets.password),
                    ])), as: nil)
        }
        let user = try WhaleAnswer.element(answer)
        guard let id = try? user.id(), let header = answer.header("authorization") else {
            throw SyncFailure(.remoteError, "Whale accepted the login but sent no token")
        }
        let token = header.hasPrefix("Bearer ") ? String(header.dropFirst(7)) : header
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncFailure(
                .remoteError, "Whale accepted the login but sent an invalid token")
        }
        let seconds = answer.header("x-expires").flatMap { UInt64($0) }
        var shown = AccountObservation(String(id), at: Whale.system)
        shown.take(user, nickname: "username", email: "email", image: "image_url")
        return .done(
            RemoteAccount(
                user: String(id), token: token,
                expiresAt: seconds.map { min($0, UInt64(Int64.max) / 1_000) * 1_000 }),
            observations: shown.proposals(answer))
    }

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        request.headers.append(.init("Authorization", "Bearer \(account.token)"))
    }

    // MARK: - Reading

    /// The feed that contains only the account's own user.
    private static let session = "sessions"
    private static let answers = "answers"
    private static let questions = "questions"

    static func comments(on answer: String) -> String {
        "answers/\(RemoteRequest.segment(answer))/comments"
    }

    static func likes(of answer: String) -> String {
        "answers/\(RemoteRequest.segment(answer))/likes"
    }

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        [WhaleConnector.session, "users", WhaleConnector.questions, WhaleConnector.answers].map {
            RemotePage($0)
        }
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        guard page.feed != WhaleConnector.session else {
            return RemoteRequest("GET", WhaleConnector.root + page.feed)
        }
        return WhaleConnector.get(page.feed, page: Int64(page.place) ?? 0)
    }

    static func get(_ list: String, page: Int64 = 0) -> RemoteRequest {
        RemoteRequest(
            "GET", root + list,
            query: [.init("page", String(page)), .init("per_page", String(rowsPerPage))])
    }

    package func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        var content = RemoteContent()
        var observations = WhaleObservations(response)
        if page.feed == WhaleConnector.session {
            let user = try WhaleAnswer.element(response)
            observations.read { (observations) throws(IngestRefusal) in
                observations.add(try WhaleDocuments.user(user), at: user.path)
                observations.add(try WhaleDocuments.counts(user, isOwn: true), at: user.path)
            }
        } else {
            let read = try WhalePage(response, requested: Int64(page.place) ?? 0)
            var entries: [String] = []
            for row in read.rows {
                observations.read { (observations) throws(IngestRefusal) in
                    try add(row, of: page.feed, to: &observations, &content)
                    entries.append(String(try row.id()))
                }
            }
            if WhaleList(page.feed) != nil {
                content.lists.append(ListPart(page.feed, entries, .page(total: nil)))
            }
            content.refused = read.refused
            content.next = read.next.map { RemotePage(page.feed, String($0)) }
            content.moves = true
        }
        content.observations = observations.result.proposals
        content.refused += observations.refused
        return content
    }

    private func add(
        _ row: JSONElement, of feed: String, to observations: inout WhaleObservations,
        _ content: inout RemoteContent
    ) throws(IngestRefusal) {
        switch feed {
        case "users": observations.add(try WhaleDocuments.user(row), at: row.path)
        case WhaleConnector.questions: try observations.addQuestion(row)
        case WhaleConnector.answers:
            let answer = try WhaleDocuments.answer(row)
            let isRead = observations.add(answer, at: row.path) != nil
            try observations.addQuestion(try row.member("question"))
            guard isRead else { return }
            // A null count means that the list is empty.
            let (comments, likes) = (
                WhaleConnector.comments(on: answer.answer), WhaleConnector.likes(of: answer.answer)
            )
            for (field, feed, count) in [
                ("commentCount", comments, answer.commentCount),
                ("likeCount", likes, answer.likeCount),
            ] {
                let isEmpty = answer.cleared.contains(field)
                content.leads.append(
                    FeedLead(
                        RemotePage(feed), version: isEmpty ? "0" : String(count),
                        isEmpty: isEmpty))
            }
        case _ where feed.hasSuffix("/comments"): try observations.addComment(row)
        default:
            observations.add(try WhaleDocuments.like(row), at: row.path)
            try observations.addUser("user", of: row)
        }
    }

    package func removals(
        from list: WholeList, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> ListFindings {
        let known = KnownEntries(views, projections)
        switch WhaleList(list.name) {
        case .answers:
            let missing = try known.answers().filter { isMissing($0, in: list) }
            var gone: [any Observation] = try missing.compactMap(known.removal)
            // A question whose answer was removed is unanswered again, so it was removed too if the
            // list of questions lacks it.
            if let open = list.earlier[WhaleConnector.questions] {
                gone += try missing.compactMap(known.question)
                    .filter { !open.contains($0.question) }.map(removal)
            }
            return try removals(from: list, gone)
        case .questions:
            // An answered question moves to the list of answers, which is read next and lists the
            // question again.
            return try removals(
                from: list,
                try known.openQuestions().filter { isMissing($0.question, in: list) }
                    .map(removal))
        case .comments(let answer):
            let removals: [ProposedEvent] = try known.comments(on: Tag("answer", answer)).compactMap
            { id in
                guard id.hasPrefix(WhaleDocuments.commentPrefix),
                    !list.entries.contains(
                        String(id.dropFirst(WhaleDocuments.commentPrefix.count)))
                else { return nil }
                var comment = CommentObserved()
                (comment.comment, comment.answer, comment.removed) = (id, answer, true)
                return try ProposedEvent(observation: comment, observedAt: list.readAt)
            }
            return findings(for: list, removals)
        case .likes(let answer):
            let removals: [ProposedEvent] = try known.likes(of: Tag("answer", answer)).compactMap {
                known in
                guard !list.entries.contains(known.like) else { return nil }
                var like = LikeObserved()
                (like.like, like.answer, like.user) = (known.like, answer, known.user)
                like.removed = true
                return try ProposedEvent(observation: like, observedAt: list.readAt)
            }
            return findings(for: list, removals)
        case nil: return ListFindings()
        }
    }

    package func shownCount(of list: String, _ views: some ViewReader) throws -> Int? {
        let known = KnownEntries(views, projections)
        return switch WhaleList(list) {
        case .comments(let answer): try known.commentCount(on: Tag("answer", answer))
        case .likes(let answer): try known.likes(of: Tag("answer", answer)).count
        case .answers, .questions, nil: nil
        }
    }

    private func removal(of question: QuestionObserved) -> QuestionObserved {
        var removal = question
        removal.clearPostedAs()
        removal.removed = true
        return removal
    }

    /// Returns the findings for a list with a count; a page may omit rows.
    ///
    /// If the answer's count is wrong, the list must differ from it as in earlier readings.
    private func findings(for list: WholeList, _ removals: [ProposedEvent]) -> ListFindings {
        guard let count = list.version.flatMap({ Int($0) }) else {
            return ListFindings(isPartial: true)
        }
        if list.entries.count >= count - list.surplus { return ListFindings(removals: removals) }
        guard list.entries.count >= count else { return ListFindings(isPartial: true) }
        return ListFindings(removals: removals, isPartial: true, needConfirmation: true)
    }

    private func isMissing(_ id: String, in list: WholeList) -> Bool {
        WhaleConnector.isNumber(id) && !list.entries.contains(id)
    }

    /// Returns the findings for a list that has no count; its removals need confirmation.
    ///
    /// A removal while the pages are read moves rows to pages that have already been read, so an
    /// entry must be missing twice. If rows are repeated because the order of the list is not
    /// unique, other rows may be missing each time.
    private func removals(
        from list: WholeList, _ removals: [any Observation]
    ) throws -> ListFindings {
        guard !list.hasRepeats else { return ListFindings(isPartial: true) }
        return ListFindings(
            removals: try removals.map {
                try ProposedEvent(observation: $0, observedAt: list.readAt)
            }, needConfirmation: true)
    }

    // MARK: - Delivering

    package func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        // Whale's ids are numbers; any other id belongs to another system.
        let id = String(intent.key.name)
        guard WhaleConnector.isNumber(id) else { return .foreign }
        switch intent.event.type {
        case CommentPosted.eventType:
            let known = try KnownAnswer(
                intent.key, likedBy: account.user, views, projections)
            guard let known else { return WhaleConnector.unknown("answer", id) }
            return .deliver([
                WhaleDelivery.comment(
                    try intent.event.decode(CommentPosted.self), on: id, known.newestComment)
            ])
        case LikeToggled.eventType:
            return try like(intent, id, views, account)
        case QuestionAsked.eventType:
            return .deliver([
                WhaleDelivery.question(
                    try intent.event.decode(QuestionAsked.self),
                    try KnownNumbers(views, projections))
            ])
        case AnswerRecorded.eventType:
            return try answer(intent, id, views, account)
        case ProfileEdited.eventType:
            return try picture(intent, id, views, account)
        case FollowToggled.eventType:
            let follower = try intent.event.decode(FollowToggled.self).follower
            guard account.user.isEmpty || follower == account.user else {
                return .refused(
                    .conditionFailed, "Whale lets users follow only on their own behalf")
            }
            return .refused(.notFound, "Whale has no route for following a user")
        default: return .foreign
        }
    }

    private func like(
        _ intent: Intent, _ id: String, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        let known = try KnownAnswer(intent.key, likedBy: account.user, views, projections)
        guard let known else { return WhaleConnector.unknown("answer", id) }
        guard try intent.event.decode(LikeToggled.self).isOn else {
            return known.isLiked
                ? .refused(.notFound, "Whale has no route for removing a like")
                : .satisfied(.feed(WhaleConnector.answers))
        }
        let like = WhaleDelivery.like(of: id, by: account.user)
        return known.isLiked
            ? .satisfied(.wholeFeed(WhaleConnector.likes(of: id), otherwise: [like]))
            : .deliver([like])
    }

    private func picture(
        _ intent: Intent, _ id: String, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        let edit = try intent.event.decode(ProfileEdited.self)
        guard edit.hasImageURL else { return .foreign }
        guard account.user.isEmpty || account.user == id else {
            return .refused(
                .conditionFailed, "Whale lets users change only their own profile")
        }
        guard WhaleConnector.isPicture(edit.imageURL) else {
            return .refused(.invalidPayload, "Whale accepts a picture only as an http or https URL")
        }
        // A different picture on Whale does not replace the edit, because the time of its first
        // reading is not the time at which it was set.
        let shown = try projections.picture(of: intent.key, views)
        let picture = WhaleDelivery.picture(edit)
        return shown == edit.imageURL
            ? .satisfied(.wholeFeed(WhaleConnector.session, otherwise: [picture]))
            : .deliver([picture])
    }

    /// The picture is the only field of a profile that is sent; a later edit of the picture replaces
    /// an earlier one, even if it removes the picture, which Whale does not support.
    package func field(setBy intent: EventEnvelope) -> String? {
        guard intent.type == ProfileEdited.eventType,
            let edit = try? intent.decode(ProfileEdited.self),
            edit.hasImageURL ? WhaleConnector.isPicture(edit.imageURL) : edit.removesPicture
        else { return nil }
        return "picture"
    }

    /// Returns whether Whale accepts a picture, which it fetches from a URL.
    private static func isPicture(_ url: String) -> Bool {
        ["http://", "https://"].contains(where: url.lowercased().hasPrefix)
    }

    private func answer(
        _ intent: Intent, _ id: String, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        guard let known = try KnownQuestion(intent.key, views, projections) else {
            return WhaleConnector.unknown("question", id)
        }
        guard account.user.isEmpty || known.receiver == account.user else {
            return .refused(.conditionFailed, WhaleDelivery.notAsked)
        }
        // A question has at most one answer, so nothing is sent if it is already answered.
        guard !known.isAnswered else {
            return .satisfied(
                .sent(
                    otherwise: .conditionFailed, "the question already has another answer on Whale")
            )
        }
        let recorded = try intent.event.decode(AnswerRecorded.self)
        if let refusal = WhaleDelivery.refusal(of: recorded) { return refusal }
        guard let video = blobs?.path(of: recorded.blob),
            let thumbnail = blobs?.path(of: recorded.thumbnail)
        else {
            return .waiting(.notThere, "the video is on the device that recorded it")
        }
        return .deliver([
            WhaleDelivery.answer(
                recorded, video: video, thumbnail: thumbnail,
                try KnownNumbers(views, projections))
        ])
    }

    /// Returns whether an id is one of Whale's, which are numbers.
    private static func isNumber(_ id: String) -> Bool {
        UInt64(id).map { $0 > 0 && String($0) == id } ?? false
    }

    private static func unknown(_ kind: String, _ id: String) -> DeliveryPlan {
        .waiting(.notThere, "Whale does not list the \(kind) \(id)")
    }

    package func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        try WhaleDelivery.confirm(response, of: intent)
    }

    package func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        let search = WhaleSearch(
            response, intent, baseline: WhaleBaseline(baseline), taken: taken,
            user: account.user)
        return try search.result(of: delivery.probe)
    }
}

/// The feeds for which a missing row counts as removed.
private enum WhaleList {
    case answers
    /// The unanswered questions of all users.
    case questions
    case comments(on: String)
    case likes(of: String)

    init?(_ feed: String) {
        let parts = feed.split(separator: "/").map(String.init)
        switch (parts.count, parts.first, parts.last) {
        case (1, "answers", _): self = .answers
        case (1, "questions", _): self = .questions
        case (3, "answers", "comments"): self = .comments(on: parts[1])
        case (3, "answers", "likes"): self = .likes(of: parts[1])
        default: return nil
        }
    }
}
