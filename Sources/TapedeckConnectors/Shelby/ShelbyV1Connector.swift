internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// The connector for Shelby's 2012–2014 API, which is used if the address ends in `/v1`.
///
/// Every response is an envelope that contains a status, which is used instead of the HTTP status.
/// Lists are sorted by id, newest first. A page requested with `since_id` includes the row with
/// that id, so it repeats the last row of the page before it.
///
/// | intent | request | safety |
/// |---|---|---|
/// | like | `PUT /frame/{id}/like` | probe: the copy that the like creates on the user's public roll |
/// | unlike | `DELETE /frame/{copy}` for each copy | natural: a deleted copy stays deleted |
/// | comment | `POST /conversation/{id}/messages` | probe: the user's messages in the conversation |
/// | watched | `POST /frame/{id}/watched` | once: Shelby counts a view only once per day, but any
/// other report every time |
/// | share | `POST /frame/{id}/share` | once: shares cannot be read back |
/// | visit | `PUT /user/{id}/visit` | once: visits are only counted |
///
/// Watch-later marks, and their removal when the video is watched, are not sent to the remote. This
/// API has no separate mark: the `add_to_watch_later` of older clients *is* a like and puts a copy
/// on the user's public roll. Marks and likes cannot be distinguished, so watching a marked video
/// would also remove a like.
///
/// Besides the user's stream and public roll, the connector reads the lists that the user has
/// chosen: other dashboards and rolls, and the list of the rolls that the user follows. The videos
/// of a chosen list were not shared with the user, so they appear only on that list.
///
/// Likes are read from the frames' upvoters and from the user's public roll. A like removed
/// elsewhere is noticed only when its frame is read again, because the roll does not report
/// removals.
package struct ShelbyV1Connector: Connector {
    let projections: VideoProjections
    /// The lists that the user has chosen.
    private let lists: [ShelbyV1Feed]

    /// Creates a connector that looks up state in `projections`; unknown lists, and lists beyond the
    /// limit, are skipped.
    package init(_ projections: VideoProjections = .standard, lists: [String] = []) {
        self.projections = projections
        // Devices that choose lists at the same time may exceed the limit.
        self.lists = Array(
            lists.compactMap { ShelbyV1Feed($0) }.filter(\.isChosen).prefix(ShelbyV1Feed.listsMax))
    }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: Shelby.system, rateCount: 20, rateWindow: 10_000, settling: 5_000,
            freshness: [10_000, 20_000, 40_000, 80_000, 120_000],
            intentKinds: ["video", "account"])
    }

    package var lookups: [any Projection] {
        [ShelbyFrames(), projections.videos, projections.lists, projections.knownLists]
    }

    // MARK: - Login

    /// Logs in with an email address and a password, or with an account at a linked service; the
    /// response contains the user and the token.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.first else {
            // Without `intention`, the remote would create an account.
            return .send(
                try tokenRequest(secrets, [.init("intention", "login")]), as: nil)
        }
        return try signedIn(answer)
    }

    /// Links a service to the account.
    package func link(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.first else { return .send(try tokenRequest(secrets), as: nil) }
        return try signedIn(answer)
    }

    private func tokenRequest(
        _ secrets: RemoteSecrets, _ more: [RemoteRequest.Field] = []
    ) throws(SyncFailure) -> RemoteRequest {
        var fields: [RemoteRequest.Field]
        if let service = secrets.service, let token = secrets.token {
            fields = [
                .init("provider_name", service.name), .init("uid", service.user),
                .init("token", token),
            ]
            if let secret = secrets.tokenSecret { fields.append(.init("secret", secret)) }
            fields += more
        } else if !secrets.user.isEmpty, !secrets.password.isEmpty {
            fields = [.init("email", secrets.user), .init("password", secrets.password)]
        } else {
            throw SyncFailure(
                .unauthorized,
                "Shelby requires an email address and a password, or an account at a service",
                hint: "run storectl login NAME --user ADDRESS with the password on standard input,"
                    + " or storectl login NAME --provider twitter --uid ID --token-file FILE")
        }
        return RemoteRequest("POST", "/token", body: .form(fields))
    }

    /// Reads the profile of the user who has logged in.
    private func signedIn(_ answer: RemoteResponse) throws(SyncFailure) -> LoginStep {
        let result: JSONValue
        do {
            result = try ShelbyV1Documents.result(answer)
        } catch {
            // Shelby refuses a wrong password with 404 and an unknown token with 403.
            guard [.notFound, .remoteError].contains(error.code), Self.isOwnAnswer(answer) else {
                throw error
            }
            throw SyncFailure(
                .unauthorized, error.text,
                hint: "run storectl login NAME with the right password or token")
        }
        let user = try element(result)
        guard let id = text(user, "id"), let token = text(user, "authentication_token"),
            let roll = text(user, "personal_roll_id") ?? text(user, "public_roll_id")
        else {
            throw .unexpected(
                "Shelby", .remoteError, expected: "the profile of the user who logged in")
        }
        var shown = AccountObservation(id, at: Shelby.system)
        shown.take(user, nickname: "nickname", email: "primary_email", image: "user_image")
        if let links = try? user.list("authentications") {
            shown.take(
                services: links.compactMap { link in
                    try? JSONElement(link, at: "$").text("provider").value
                })
        }
        return .done(
            RemoteAccount(user: id, token: token, details: [ShelbyV1Connector.roll: roll]),
            observations: shown.proposals(answer) + contacts(of: user, answer))
    }

    /// Returns observations of the newest addresses to which the user has sent videos, at most
    /// `FieldLimits.listCountMax`.
    ///
    /// Invalid addresses are skipped, so they do not fail the login.
    private func contacts(of user: JSONElement, _ answer: RemoteResponse) -> [ProposedEvent] {
        let remembered = try? user.object("autocomplete").value?.list("email")
        var entities: Set<String> = []
        return (remembered ?? []).suffix(FieldLimits.listCountMax).compactMap { value in
            guard case .string(let address) = value else { return nil }
            let contact = ContactObserved.with {
                ($0.address, $0.system) = (address, Shelby.system)
            }
            // Skip duplicates: the remote may list an address several times, in different
            // spellings.
            guard entities.insert(contact.entity).inserted else { return nil }
            return try? ProposedEvent(observation: contact, observedAt: answer.date)
        }
    }

    /// Returns the request that deletes the user's only token, which ends all of the user's
    /// sessions.
    package func logOutRequest(_ account: RemoteAccount) -> RemoteRequest? {
        RemoteRequest("DELETE", "/token/\(RemoteRequest.segment(account.token))")
    }

    /// Returns `.unauthorized` for an unknown token: the user may have a newer one, whose sessions
    /// continue.
    ///
    /// Shelby responds to an unknown token with 404. A 404 without Shelby's envelope comes from a
    /// proxy.
    package func logOutFailure(_ response: RemoteResponse) -> SyncFailure? {
        do {
            _ = try ShelbyV1Documents.result(response)
            return nil
        } catch {
            guard error.code == .notFound, Self.isOwnAnswer(response) else { return error }
            return SyncFailure(.unauthorized, error.text)
        }
    }

    /// Returns whether a response is in Shelby's envelope.
    private static func isOwnAnswer(_ response: RemoteResponse) -> Bool {
        guard case .object(let members)? = try? ShelbyDocuments.document(response) else {
            return false
        }
        return members["status"]?.int64 != nil
    }

    /// The name of the account detail that contains the id of the user's public roll.
    static let roll = "roll"

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        let field = RemoteRequest.Field("auth_token", account.token)
        // Send the token in the body where possible, because bodies are logged less often than
        // URLs.
        switch (request.method, request.body) {
        case ("POST", .none), ("PUT", .none): request.body = .form([field])
        case (_, .form(let fields)): request.body = .form(fields + [field])
        default: request.query.append(field)
        }
    }

    // MARK: - Reading

    private static let pageCount = 50
    /// The minimum number of rows in a full page; a page with fewer rows is the last page.
    ///
    /// According to the remote's own notes, pages are limited to 20 or 500 rows.
    private static let fullCountMin = 20
    /// The period, in milliseconds, in which new rows from other users may still appear below newer
    /// rows.
    private static let lookBack: Int64 = 7_200_000

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        ([.stream, .personalRoll] + lists).map { RemotePage($0.name) }
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        switch ShelbyV1Feed(page.feed) {
        case .personalRoll: rollFrames(account, since: page.place)
        case .roll(let id): list("/roll/\(id)/frames", since: page.place)
        case .dashboard(let id): list("/user/\(id)/dashboard", since: page.place)
        case .following:
            RemoteRequest("GET", "/user/\(RemoteRequest.segment(account.user))/rolls/following")
        case .stream, nil: list("/dashboard", since: page.place)
        }
    }

    /// Returns the request for the user's public roll, starting at the row with the id `since` and
    /// continuing with older rows.
    ///
    /// If `since` is empty, the page begins with the newest row.
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
        let feed = ShelbyV1Feed(page.feed) ?? .stream
        let result: JSONValue
        do {
            result = try ShelbyV1Documents.result(response)
        } catch {
            // If one chosen list was deleted, became private or fails, the other feeds must still
            // be read. If Shelby itself fails, reading the stream fails too.
            guard feed.isChosen, [.notFound, .remoteError, .unavailable].contains(error.code),
                Self.isOwnAnswer(response)
            else { throw error }
            var content = RemoteContent()
            content.missing = (page.feed, "\(own: page.feed) (\(error.text))")
            return content
        }
        var reading = ShelbyV1Reading(account, lists, observedAt: response.date)
        if page.place.isEmpty { reading.describe(feed, result) }
        let rows = feed.hasEntries || feed == .following ? result : try rollRows(result)
        guard case .array(let list) = rows else {
            throw .unexpected("Shelby", .remoteError, expected: "the list \(own: page.feed)")
        }
        for (index, value) in list.enumerated() { reading.add(value, at: "$[\(index)]", of: feed) }
        var content = reading.content
        if feed == .following {
            // An unreadable row may be any of the known rolls, so a list with such a row does not
            // show which rolls were removed.
            if content.refused.isEmpty {
                content.lists.append(ListPart(page.feed, reading.rows, .whole))
            }
            return content
        }
        content.next = next(behind: page, list.count, reading.oldest)
        if !feed.hasEntries {
            var total: Int?
            if case .object(let roll) = result {
                total = roll["frame_count"]?.int64.map { Int($0) }
            }
            content.lists.append(ListPart(page.feed, reading.rows, .page(total: total)))
        }
        if let oldest = reading.oldest, let newest = reading.newest {
            let settled = (response.date ?? newest.milliseconds) - ShelbyV1Connector.lookBack
            content.span = FeedSpan(
                settled: min(newest.milliseconds, settled), oldest: oldest.milliseconds)
        }
        return content
    }

    private func rollRows(_ result: JSONValue) throws(SyncFailure) -> JSONValue {
        guard case .object(let roll) = result, let frames = roll["frames"] else {
            throw .unexpected(
                "Shelby", .remoteError, expected: "a roll, an object with frames")
        }
        if case .null = frames { return .array([]) }
        return frames
    }

    /// Returns the next page, which begins with the oldest row of `page`; nil after the last page.
    func next(behind page: RemotePage, _ count: Int, _ oldest: ShelbyV1ID?) -> RemotePage? {
        guard count >= ShelbyV1Connector.fullCountMin, let oldest, oldest.text != page.place,
            page.place.isEmpty || oldest.text < page.place
        else { return nil }
        return RemotePage(page.feed, oldest.text)
    }

    // MARK: - Responses

    func element(_ value: JSONValue) throws(SyncFailure) -> JSONElement {
        do {
            return try JSONElement(value, at: "$")
        } catch {
            throw .unexpected("Shelby", expected: "a JSON object")
        }
    }

    private func text(_ element: JSONElement, _ name: String) -> String? {
        guard case .value(.string(let text)) = element.any(name), !text.isEmpty else { return nil }
        return text
    }
}

/// The contents of a page, collected row by row.
struct ShelbyV1Reading {
    let user: String
    /// The rolls that have feeds of their own, such as the user's own roll.
    private let rolls: Set<String>
    /// The time of the response, in Unix milliseconds.
    let observedAt: Int64?
    private(set) var content = RemoteContent()
    /// The ids of the rows, in document order.
    private(set) var rows: [String] = []
    /// The lowest and the highest id of a row.
    private(set) var oldest: ShelbyV1ID?
    private(set) var newest: ShelbyV1ID?
    /// The frames that the user's likes created.
    private(set) var likes: [ShelbyV1Frame] = []

    init(_ account: RemoteAccount, _ lists: [ShelbyV1Feed] = [], observedAt: Int64?) {
        user = account.user
        rolls = Set(
            lists.compactMap { if case .roll(let id) = $0 { id } else { nil } }
                + [account.details[ShelbyV1Connector.roll]].compactMap(\.self))
        self.observedAt = observedAt
    }

    /// Adds a row of a feed; an unreadable row is refused.
    mutating func add(_ value: JSONValue, at path: String, of feed: ShelbyV1Feed) {
        do throws(IngestRefusal) {
            let row = try JSONElement(value, at: path)
            let id = try row.shelbyID("id")
            rows.append(id.text)
            guard let group = feed.group else {
                var list = try row.shelbyV1Roll()
                list.followed = true
                return propose(list, at: path)
            }
            (oldest, newest) = (min(oldest ?? id, id), max(newest ?? id, id))
            let element = feed.hasEntries ? try ShelbyV1Documents.frame(ofEntry: row) : row
            guard let element, let frame = try ShelbyV1Frame(element) else { return }
            add(frame, isShared: feed == .stream, at: path)
            propose(frame.listing(as: feed.hasEntries ? id : nil, on: group), at: path)
            // Skip rolls with their own feeds, because those feeds also show which frames were
            // removed.
            if feed.hasEntries, let roll = frame.roll, !rolls.contains(roll) {
                propose(frame.listing(on: VideoGroup.roll(roll)), at: path)
            }
        } catch {
            refuse(error)
        }
    }

    /// Adds the description of a chosen list.
    mutating func describe(_ feed: ShelbyV1Feed, _ result: JSONValue) {
        switch feed {
        case .stream, .personalRoll, .following: break
        case .dashboard(let owner):
            // The dashboard of an unknown user is empty.
            guard case .array(let rows) = result, !rows.isEmpty else { return }
            propose(.with { ($0.list, $0.owner) = (feed.name, owner) } as ListObserved, at: "$")
        case .roll:
            do throws(IngestRefusal) {
                var list = try JSONElement(result, at: "$").shelbyV1Roll()
                list.list = feed.name
                propose(list, at: "$")
            } catch {
                refuse(error)
            }
        }
    }

    /// Adds a frame and its messages.
    ///
    /// - Parameter isShared: Whether someone shared the frame with the user, which is false for all
    ///   feeds except the stream.
    mutating func add(_ frame: ShelbyV1Frame, isShared: Bool, at path: String) {
        frame.refused.forEach { refuse($0) }
        if frame.isLike(of: user) { likes.append(frame) }
        if isShared { propose(frame.broadcast(for: user), at: path) }
        propose(frame.observation(for: user), at: path)
        if let description = frame.description {
            propose(description, reportedAt: frame.id.milliseconds, at: path)
        }
        for message in frame.messages {
            propose(message.observation(of: frame.video, in: frame.conversation), at: path)
        }
        if let conversation = frame.conversation, ShelbyV1ID(conversation) != nil,
            frame.hasMessages, frame.refused.isEmpty
        {
            content.lists.append(
                ListPart(
                    ShelbyV1List.conversation(conversation, about: frame.video).name,
                    frame.messages.map(\.id.text), .whole))
        }
    }

    private mutating func propose(
        _ observation: some Observation, reportedAt: Int64? = nil, at path: String
    ) {
        do {
            let proposal = try ProposedEvent(
                observation: observation, observedAt: observedAt, reportedAt: reportedAt)
            content.observations += [proposal] + (try IngestContext.findings(of: proposal))
        } catch let error as ModelError {
            refuse(IngestRefusal(path, error))
        } catch {
            refuse(IngestRefusal(path, .invalidPayload, "cannot be encoded"))
        }
    }

    private mutating func refuse(_ refusal: IngestRefusal) {
        content.refused.append(refusal.line)
    }
}
