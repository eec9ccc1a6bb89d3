internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// Speaks Shelby's API of 2012 to 2014 (`/v1`), at an address that ends in `/v1`.
///
/// Every answer is an envelope whose own status counts. Lists come by id, the newest first, and are paged
/// by `since_id`: that id and older ones, so a page repeats the last row of the one before.
///
/// | intent | request | how it is safe |
/// |---|---|---|
/// | like | `PUT /frame/{id}/like` | probe: the copy that it makes on the user's public roll |
/// | unlike | `DELETE /frame/{copy}`, each copy | natural: what is gone stays gone |
/// | comment | `POST /conversation/{id}/messages` | probe: the user's messages in the conversation |
/// | watched | `POST /frame/{id}/watched` | once: a view counts once a day, all else every time |
/// | share | `POST /frame/{id}/share` | once: nothing tells of what was shared |
///
/// Marks to watch later stay in the store, and so does the unset by watching. This API has no mark of its
/// own: `add_to_watch_later`, as older clients call it, *is* the like. It counts, and puts a copy on the
/// user's public roll for all to see. Nothing tells the one from the other, so a viewing that takes a mark
/// away would take a like away.
///
/// What is liked is told by the frames' upvoters and by the user's public roll. A like that is taken back
/// elsewhere shows once its frame is among those that are read again; the roll tells of no removals.
package struct ShelbyV1Connector: Connector {
    let projections: VideoProjections

    /// Makes a connector that looks things up in `projections`.
    package init(_ projections: VideoProjections = .standard) { self.projections = projections }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: Shelby.system, rateCount: 20, rateWindow: 10_000, settling: 5_000,
            freshness: [10_000, 20_000, 40_000, 80_000, 120_000], intentKinds: ["video"])
    }

    package var lookups: [any Projection] { [ShelbyFrames()] }

    // MARK: - Login

    /// By e-mail address and password; the answer is the user, with the token.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard !secrets.user.isEmpty, !secrets.password.isEmpty else {
            throw SyncFailure(
                .unauthorized, "Shelby takes an e-mail address and a password",
                hint: "storectl login NAME --user ADDRESS, with the password on standard input")
        }
        guard let answer = answers.first else {
            return .send(
                RemoteRequest(
                    "POST", "/token",
                    body: .form([
                        .init("email", secrets.user), .init("password", secrets.password),
                    ])), as: nil)
        }
        let user = try element(ShelbyV1Documents.result(answer))
        guard let id = text(user, "id"), let token = text(user, "authentication_token"),
            let roll = text(user, "public_roll_id")
        else {
            throw SyncFailure(.remoteError, "Shelby does not say who the user is")
        }
        var shown = AccountSighting(id, at: Shelby.system)
        shown.take(user, nickname: "nickname", email: "primary_email", image: "user_image")
        if let links = try? user.list("authentications") {
            shown.take(
                services: links.compactMap { link in
                    try? JSONElement(link, at: "$").text("provider").value
                })
        }
        return .done(
            RemoteAccount(user: id, token: token, details: [ShelbyV1Connector.roll: roll]),
            sightings: shown.proposals(answer))
    }

    /// A user has one token: all their sessions end with it.
    package func logOutRequest(_ account: RemoteAccount) -> RemoteRequest? {
        RemoteRequest("DELETE", "/token/\(RemoteRequest.segment(account.token))")
    }

    /// A token that Shelby does not know has no session.
    ///
    /// Something else than Shelby can answer with 401 or 404, too.
    package func logOutFailure(_ response: RemoteResponse) -> SyncFailure? {
        do {
            _ = try ShelbyV1Documents.result(response)
            return nil
        } catch {
            return [.unauthorized, .notFound].contains(error.code) && Self.isOwnAnswer(response)
                ? nil : error
        }
    }

    /// Whether an answer is in the envelope that every answer of Shelby has.
    private static func isOwnAnswer(_ response: RemoteResponse) -> Bool {
        guard case .object(let members)? = try? ShelbyDocuments.document(response) else {
            return false
        }
        return members["status"]?.int64 != nil
    }

    /// Among an account's details, the roll that holds what the user shares and likes.
    static let roll = "roll"

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        let field = RemoteRequest.Field("auth_token", account.token)
        // A body is written down in fewer places than an address; a DELETE has none.
        switch (request.method, request.body) {
        case ("POST", .none), ("PUT", .none): request.body = .form([field])
        case (_, .form(let fields)): request.body = .form(fields + [field])
        default: request.query.append(field)
        }
    }

    // MARK: - Reading

    private static let dashboard = "dashboard"
    private static let likes = "likes"
    private static let pageCount = 50
    /// A page of fewer rows is the last: by its own notes the remote caps pages at 20 or at 500.
    private static let fullCountMin = 20
    /// How far behind the newest rows others' may still turn up, in milliseconds.
    private static let lookBack: Int64 = 7_200_000

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        [RemotePage(ShelbyV1Connector.dashboard), RemotePage(ShelbyV1Connector.likes)]
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        page.feed == ShelbyV1Connector.likes
            ? rollFrames(account, since: page.place)
            : list("/dashboard", since: page.place)
    }

    /// What the user's public roll holds, from an id on to older ones; empty for the newest.
    func rollFrames(_ account: RemoteAccount, since: String = "") -> RemoteRequest {
        let roll = RemoteRequest.segment(account.details[ShelbyV1Connector.roll] ?? "")
        return list("/roll/\(roll)/frames", since: since)
    }

    private func list(_ path: String, since: String) -> RemoteRequest {
        var query = [RemoteRequest.Field("limit", String(ShelbyV1Connector.pageCount))]
        if !since.isEmpty { query.append(.init("since_id", since)) }
        return RemoteRequest("GET", path, query: query)
    }

    package func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        let isRoll = page.feed == ShelbyV1Connector.likes
        let result = try ShelbyV1Documents.result(response)
        let rows = isRoll ? try rollRows(result) : result
        guard case .array(let list) = rows else {
            throw SyncFailure(.remoteError, "Shelby did not answer with a list")
        }
        var reading = ShelbyV1Reading(account, observedAt: response.date)
        for (index, value) in list.enumerated() {
            reading.add(value, at: "$[\(index)]", isFrame: isRoll)
        }
        var content = reading.content
        content.next = next(behind: page, list.count, reading.oldest)
        if content.next != nil, let oldest = reading.oldest {
            let known = (response.date ?? .max) - ShelbyV1Connector.lookBack
            content.stopsWhereKnown = oldest.milliseconds < known
        }
        return content
    }

    private func rollRows(_ result: JSONValue) throws(SyncFailure) -> JSONValue {
        guard case .object(let roll) = result, let frames = roll["frames"] else {
            throw SyncFailure(.remoteError, "Shelby did not answer with a roll")
        }
        if case .null = frames { return .array([]) }
        return frames
    }

    /// The page behind one: from its oldest row on, which comes again.
    func next(behind page: RemotePage, _ count: Int, _ oldest: ShelbyV1ID?) -> RemotePage? {
        guard count >= ShelbyV1Connector.fullCountMin, let oldest, oldest.text != page.place,
            page.place.isEmpty || oldest.text < page.place
        else { return nil }
        return RemotePage(page.feed, oldest.text)
    }

    // MARK: - Answers

    func element(_ value: JSONValue) throws(SyncFailure) -> JSONElement {
        do {
            return try JSONElement(value, at: "$")
        } catch {
            throw SyncFailure(.unavailable, "Shelby did not answer as its API does")
        }
    }

    private func text(_ element: JSONElement, _ name: String) -> String? {
        guard case .value(.string(let text)) = element.any(name), !text.isEmpty else { return nil }
        return text
    }
}

/// What a page's rows have said so far.
struct ShelbyV1Reading {
    let user: String
    /// The user's own roll; nil where it is not known.
    let personalRoll: String?
    /// Unix milliseconds of the answer.
    let observedAt: Int64?
    private(set) var content = RemoteContent()
    /// The least id of a row.
    private(set) var oldest: ShelbyV1ID?
    /// The frames that are likes of the user.
    private(set) var likes: [ShelbyV1Frame] = []

    init(_ account: RemoteAccount, observedAt: Int64?) {
        user = account.user
        personalRoll = account.details[ShelbyV1Connector.roll]
        self.observedAt = observedAt
    }

    /// Adds a row, a frame of a roll or an entry of a dashboard; one that cannot be read is refused.
    mutating func add(_ value: JSONValue, at path: String, isFrame: Bool) {
        do throws(IngestRefusal) {
            let row = try JSONElement(value, at: path)
            let id = try row.shelbyID("id")
            oldest = min(oldest ?? id, id)
            let element = isFrame ? row : try ShelbyV1Documents.frame(ofEntry: row)
            guard let element, let frame = try ShelbyV1Frame(element) else { return }
            add(frame, isShared: !isFrame, at: path)
            propose(
                isFrame
                    ? frame.listing(on: VideoGroup.personalRoll)
                    : frame.listing(as: id, on: VideoGroup.stream), at: path)
            // Of the user's own roll the other feed tells.
            if !isFrame, let roll = frame.roll, roll != personalRoll {
                propose(frame.listing(on: VideoGroup.roll(roll)), at: path)
            }
        } catch {
            refuse(error)
        }
    }

    /// - Parameter isShared: whether somebody has shared it with the user; what stands on the user's own
    ///   roll nobody has.
    mutating func add(_ frame: ShelbyV1Frame, isShared: Bool, at path: String) {
        frame.refused.forEach { refuse($0) }
        if frame.isLike(of: user) { likes.append(frame) }
        if isShared { propose(frame.broadcast(for: user), at: path) }
        propose(frame.sighting(for: user), at: path)
        for message in frame.messages { propose(message.sighting(of: frame.video), at: path) }
    }

    private mutating func propose(_ sighting: some Observation, at path: String) {
        do {
            content.sightings.append(
                try ProposedEvent(sighting: sighting, observedAt: observedAt))
        } catch let error as ModelError {
            refuse(IngestRefusal(path, error))
        } catch {
            refuse(IngestRefusal(path, .invalidPayload, "cannot be written"))
        }
    }

    private mutating func refuse(_ refusal: IngestRefusal) {
        content.refused.append("\(refusal.path): \(refusal.message)")
    }
}
