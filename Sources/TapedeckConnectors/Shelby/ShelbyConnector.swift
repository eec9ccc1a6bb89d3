internal import Foundation
internal import SwiftProtobuf
package import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// The connector for Shelby's 2012 API (`/v2`).
///
/// A read returns a list, or an object with `err`. A write returns an object, and an `err` in it is
/// the only sign of failure; the HTTP status is meaningless. There is no paging and no way to
/// request only new rows: each read fetches the complete list of the account's channel.
///
/// | intent | request | safety |
/// |---|---|---|
/// | watch later, including the removal of the mark when the video is watched | `PUT /v2/broadcasts/{id}.json` `owner_watch_later` | natural |
/// | like | the same request with `liked_by_owner` | natural |
/// | watched | the same request with `watched_by_owner` | natural |
/// | share | `POST /v2/socializations.json` | once: shares cannot be read back |
///
/// Comments stay in the store, because this API does not support them.
package struct ShelbyConnector: Connector {
    private let projections: VideoProjections
    /// The prefix of every path; empty if the remote's address already ends in it.
    private let root: String

    /// Creates a connector that looks up state in `projections`.
    ///
    /// - Parameter url: The remote's address, with or without a trailing `/v2`.
    package init(_ projections: VideoProjections = .standard, url: String = "") {
        self.projections = projections
        root = url.hasSuffix("/v2") ? "" : "/v2"
    }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: Shelby.system, rateCount: 20, rateWindow: 10_000, settling: 5_000,
            // The polling intervals of the 2012 app.
            freshness: [10_000, 20_000, 40_000, 80_000, 120_000], intentKinds: ["video"],
            signsTime: true)
    }

    package var lookups: [any Projection] {
        [projections.videos, projections.watchLater, ChannelBroadcasts()]
    }

    // MARK: - Login

    /// Logs in with `token` and `tokenSecret` from OAuth, and uses them to request the user, the
    /// linked services and the channels.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let token = secrets.token, !token.isEmpty else {
            throw SyncFailure(
                .unauthorized, "Shelby requires an OAuth token and its secret",
                hint: "run storectl login NAME --token-file FILE, with each on its own line, or"
                    + " storectl login NAME --oauth --provider twitter --consumer-file FILE")
        }
        var account = RemoteAccount(user: "", token: token, tokenSecret: secrets.tokenSecret)
        account.details["consumerKey"] = secrets.consumerKey
        account.details["consumerSecret"] = secrets.consumerSecret
        func ask(_ path: String) -> LoginStep { .send(RemoteRequest("GET", path), as: account) }
        guard let users = answers.first else { return ask("\(root)/users.json") }
        guard let user = try Self.list(users).first, let id = Self.text(user, "_id", "id") else {
            throw .unexpected(
                "Shelby", .remoteError, expected: "a list with the user who logged in")
        }
        account.user = id
        guard answers.count > 1 else { return ask("\(root)/authentications.json") }
        guard answers.count > 2 else { return ask("\(root)/channels.json") }
        let channels = try Self.list(answers[2])
        // Like the 2012 app, use the first non-public channel as the user's own.
        let channel = channels.first { !Self.isTrue($0, "public") }
            .flatMap { Self.text($0, "_id", "id") }
        guard let channel else {
            throw SyncFailure(.remoteError, "the user has no channel of their own on Shelby")
        }
        account.details["channel"] = channel
        var shown = AccountObservation(id, at: Shelby.system)
        if let user = try? JSONElement(user, at: "$[0]") {
            shown.take(user, nickname: "nickname", image: "user_image")
        }
        shown.take(channels: channels.compactMap { Self.text($0, "_id", "id") })
        // The services are only displayed, so a failure here does not fail the login.
        if let services = try? Self.list(answers[1]) {
            shown.take(
                services: services.compactMap { service in
                    if case .string(let name) = service { name } else { nil }
                })
        }
        return .done(account, observations: shown.proposals(answers[2]))
    }

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        OAuthSignature.add(to: &request, account, moment)
    }

    // MARK: - Reading

    /// The only feed, which contains all broadcasts on one page.
    private static let broadcasts = "broadcasts"

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        [RemotePage(ShelbyConnector.broadcasts)]
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        let channel = RemoteRequest.segment(account.details["channel"] ?? "")
        return RemoteRequest(
            "GET", "\(root)/channels/\(channel)/broadcasts.json",
            query: [.init("video_player", Self.players.joined(separator: ","))])
    }

    package func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        // This call throws if the response is one of the API's own errors. The observations are
        // read below, as from a saved file.
        let list = try Self.list(response)
        let result: IngestResult
        do {
            result = try IngestResource.named("shelby/broadcasts").read(
                response.body, observedAt: response.date)
        } catch {
            throw SyncFailure(error.code, "\(error.message)", hint: error.hint)
        }
        var content = RemoteContent()
        content.observations = result.proposals
        content.refused = result.refused.map(\.line)
        if result.refused.isEmpty {
            let ids = list.compactMap { Self.text($0, "_id", "id") }
            if ids.count == list.count {
                content.lists = [ListPart(ShelbyConnector.broadcasts, ids, .newest)]
            }
        }
        return content
    }

    /// The providers whose broadcasts are requested.
    private static let players = ["youtube", "vimeo"]

    package func removals(
        from list: WholeList, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> ListFindings {
        guard let channel = account.details["channel"] else { return ListFindings() }
        let known = try ChannelBroadcasts.known(in: channel, views).filter {
            Self.players.contains(VideoKey(tag: $0.video).provider)
        }
        let missing = known.filter { !list.entries.contains($0.broadcast) }
        var gone = missing
        if !list.isComplete, !list.entries.isEmpty {
            // The server may have truncated the list, so only broadcasts newer than the oldest
            // listed one are known to be gone. A time of 0 means unknown.
            let shown = known.filter { list.entries.contains($0.broadcast) }.map(\.time)
            let oldest = shown.contains(0) ? nil : shown.min()
            gone = missing.filter { known in oldest.map { known.time > $0 } ?? false }
        }
        let removals: [ProposedEvent] = try gone.map { known in
            var removal = BroadcastReceived()
            removal.broadcast = known.broadcast
            removal.video = String(known.video.name)
            removal.channel = channel
            removal.updatedAt = Google_Protobuf_Timestamp(
                milliseconds: Int64(clamping: known.version))
            removal.removed = true
            return try ProposedEvent(observation: removal, observedAt: list.readAt)
        }
        return ListFindings(removals: removals, isPartial: gone.count < missing.count)
    }

    // MARK: - Delivering

    package func derived(
        _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [DerivedIntent] {
        try WatchLaterUnset.page(
            of: projections.watchLater, views, after: after, limit: limit
        ).map { DerivedIntent(row: $0.row, event: $0.unset.event, key: $0.unset.key) }
    }

    package func showsWhatFollows(
        from event: EventID, of key: Tag, _ views: some ViewReader
    ) throws -> Bool {
        guard
            try WatchLaterUnset.isUnset(key, by: event, of: projections.watchLater, views)
        else { return false }
        let known = try KnownBroadcasts(key, views, projections)
        return known.winner != nil && known.told.isEmpty
    }

    /// The types of intents that this API supports.
    private static let intents: Set<EventType> = [
        PlaybackProgressed.eventType, WatchLaterToggled.eventType, LikeToggled.eventType,
        VideoWatched.eventType, VideoShared.eventType,
    ]

    package func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        guard Self.intents.contains(intent.event.type) else { return .foreign }
        let known = try KnownBroadcasts(intent.key, views, projections)
        guard let winner = known.winner else {
            if known.wasRemoved {
                return .refused(.notFound, "Shelby no longer has \(intent.key.name)")
            }
            return .waiting(.notThere, "no broadcast of \(intent.key.name) is known on Shelby")
        }
        switch intent.event.type {
        case PlaybackProgressed.eventType: return unset(known, before: intent)
        case WatchLaterToggled.eventType:
            guard try intent.event.decode(WatchLaterToggled.self).isOn else {
                return unset(known, before: intent)
            }
            return deliver(flag(.watchLater, true, winner), unless: !known.told.isEmpty)
        case LikeToggled.eventType:
            let liked = known.broadcasts.filter(\.isLiked)
            if try intent.event.decode(LikeToggled.self).isOn {
                return deliver(flag(.liked, true, winner), unless: !liked.isEmpty)
            }
            return liked.isEmpty
                ? .satisfied(.feed(ShelbyConnector.broadcasts))
                : .deliver(liked.map { flag(.liked, false, $0.id, target: $0.id) })
        case VideoWatched.eventType:
            let isWatched = known.broadcasts.contains { $0.id == winner && $0.isWatched }
            // The API cannot clear this flag, so one request is enough for all viewings.
            return isWatched ? .satisfied(.final) : .deliver([flag(.watched, true, winner)])
        case VideoShared.eventType:
            return .deliver([share(try intent.event.decode(VideoShared.self), winner)])
        default: return .foreign
        }
    }

    private func deliver(_ flag: Delivery, unless isSet: Bool) -> DeliveryPlan {
        isSet
            ? .satisfied(.wholeFeed(ShelbyConnector.broadcasts, otherwise: [flag]))
            : .deliver([flag])
    }

    /// Removes the marks that were set before the intent; marks that were set later on the remote
    /// stay.
    private func unset(_ known: KnownBroadcasts, before intent: Intent) -> DeliveryPlan {
        let time = Int64(intent.event.stamp.milliseconds)
        let told = known.told.filter { $0.time <= time }
        guard !told.isEmpty else { return .satisfied(.feed(ShelbyConnector.broadcasts)) }
        return .deliver(
            told.map { flag(.watchLater, false, $0.broadcast, target: $0.broadcast) })
    }

    /// The flags that the owner of a broadcast can set.
    fileprivate enum Flag: String {
        case watchLater = "owner_watch_later"
        case liked = "liked_by_owner"
        case watched = "watched_by_owner"
    }

    private func flag(
        _ flag: Flag, _ value: Bool, _ broadcast: String, target: String = ""
    ) -> Delivery {
        Delivery(
            target: target, safety: .natural,
            request: RemoteRequest(
                "PUT", "\(root)/broadcasts/\(RemoteRequest.segment(broadcast)).json",
                body: .form([.init(flag.rawValue, value ? "true" : "false")])),
            baseline: broadcast)
    }

    private func share(_ share: VideoShared, _ broadcast: String) -> Delivery {
        var fields: [RemoteRequest.Field] = [
            .init("destination", share.destinations.joined(separator: ",")),
            .init("broadcast_id", broadcast), .init("comment", share.text),
        ]
        if share.hasTo { fields.append(.init("to", share.to)) }
        return Delivery(
            safety: .once,
            request: RemoteRequest("POST", "\(root)/socializations.json", body: .form(fields)))
    }

    package func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        let answer = try Self.object(response)
        guard case .form(let fields) = delivery.request.body, let field = fields.first,
            let flag = Flag(rawValue: field.name)
        else { return Confirmation(remoteID: Self.text(answer, "_id", "id") ?? "") }
        return try confirm(
            flag, field.value == "true", delivery.baseline, answer, response, intent)
    }

    /// Confirms a changed flag, using its value in the response.
    ///
    /// If the response does not contain the flag, the change is treated as made at the time
    /// of the response.
    private func confirm(
        _ flag: Flag, _ value: Bool, _ broadcast: String, _ answer: JSONValue,
        _ response: RemoteResponse, _ intent: Intent
    ) throws(SyncFailure) -> Confirmation {
        do {
            if let observation = try? BroadcastReceived(
                shelby: JSONElement(answer, at: "$")), observation.broadcast == broadcast,
                let shown = flag.value(in: observation)
            {
                guard shown == value else {
                    throw SyncFailure(
                        .remoteError, "Shelby accepted the change but did not apply it")
                }
                return Confirmation(
                    remoteID: broadcast, remoteVersion: observation.remoteVersion ?? 0,
                    observations: [
                        try ProposedEvent(observation: observation, observedAt: response.date)
                    ])
            }
            var observation = BroadcastReceived()
            observation.broadcast = broadcast
            observation.video = String(intent.key.name)
            flag.set(value, in: &observation)
            let time = response.date ?? Int64(intent.event.stamp.milliseconds)
            observation.updatedAt = Google_Protobuf_Timestamp(milliseconds: time)
            return Confirmation(
                remoteID: broadcast, remoteVersion: UInt64(max(0, time)),
                observations: [
                    try ProposedEvent(observation: observation, observedAt: response.date)
                ])
        } catch let failure as SyncFailure {
            throw failure
        } catch {
            throw SyncFailure(
                .remoteError, "Shelby's response cannot be recorded: \(ForeignError.text(error))")
        }
    }

    // MARK: - Responses

    /// Returns the list in a response; an object is treated as a failure, whatever the status.
    private static func list(_ response: RemoteResponse) throws(SyncFailure) -> [JSONValue] {
        switch try ShelbyDocuments.document(response) {
        case .array(let list):
            // A redirect may have a body that is valid JSON.
            if let failure = response.failure { throw failure }
            return list
        case .object(let members):
            if let failure = response.failure, failure.isTransient {
                throw named(failure, members)
            }
            throw failure(members, response)
        default: throw .unexpected("Shelby", .remoteError, expected: "a JSON list or an error")
        }
    }

    /// Returns the object in the response to a write.
    private static func object(_ response: RemoteResponse) throws(SyncFailure) -> JSONValue {
        let document = try ShelbyDocuments.document(response)
        guard case .object(let members) = document else {
            throw .unexpected("Shelby", expected: "a JSON object")
        }
        switch members["err"] {
        case nil, .null: break
        default: throw failure(members, response)
        }
        if let failure = response.failure { throw failure }
        return document
    }

    private static func failure(
        _ members: [String: JSONValue], _ response: RemoteResponse
    ) -> SyncFailure {
        if members["err"] == nil, let failure = response.failure { return failure }
        let text = text(members)
        let lower = " " + text.description.lowercased()
        let isLogin = loginWords.contains { lower.contains(" " + $0) }
        if isLogin || response.status == 401 {
            return SyncFailure(
                .unauthorized, text,
                hint: "run storectl login NAME --token-file FILE with a valid token")
        }
        // An error from the remote is a refusal, whatever the status, unless the remote requests a
        // retry.
        if let failure = response.failure, failure.retryAfter != nil || failure.code == .throttled {
            return named(failure, members)
        }
        return SyncFailure(.remoteError, text)
    }

    /// The words that identify a login error.
    private static let loginWords = [
        "not authorized", "unauthorized", "log in", "logged in", "sign in", "signed in", "oauth",
        "access token",
    ]

    private static func text(_ members: [String: JSONValue]) -> FailureText {
        guard case .string(let message) = members["err"] else { return "Shelby returned an error" }
        return "\(message.prefix(200))"
    }

    /// Returns the failure with the remote's own message, if there is one.
    private static func named(
        _ failure: SyncFailure, _ members: [String: JSONValue]
    ) -> SyncFailure {
        guard case .string = members["err"] else { return failure }
        var failure = failure
        failure.text = text(members)
        return failure
    }

    private static func text(_ value: JSONValue, _ names: String...) -> String? {
        guard case .object(let members) = value else { return nil }
        for name in names {
            if case .string(let text) = members[name], !text.isEmpty { return text }
        }
        return nil
    }

    private static func isTrue(_ value: JSONValue, _ name: String) -> Bool {
        guard case .object(let members) = value else { return false }
        switch members[name] {
        case .bool(let flag): return flag
        case .number(let number): return number != "0"
        default: return false
        }
    }
}

extension ShelbyConnector.Flag {
    fileprivate func value(in observation: BroadcastReceived) -> Bool? {
        switch self {
        case .watchLater: observation.hasWatchLater ? observation.watchLater : nil
        case .liked: observation.hasLiked ? observation.liked : nil
        case .watched: observation.hasWatched ? observation.watched : nil
        }
    }

    fileprivate func set(_ value: Bool, in observation: inout BroadcastReceived) {
        switch self {
        case .watchLater: observation.watchLater = value
        case .liked: observation.liked = value
        case .watched: observation.watched = value
        }
    }
}
