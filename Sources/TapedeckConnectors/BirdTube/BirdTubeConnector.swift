internal import Foundation
internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// Speaks the API of BirdTube's server: videos of YouTube that users hand in, and a chat beside each.
///
/// Every request is a `POST` with a JSON body, and every answer of the API has status 200: whether it is
/// a success stands in its `result`. Reading takes no login, and a session never ends.
///
/// | intent | request | how it is safe |
/// |---|---|---|
/// | submission | `/video/register` | natural: a video is there once, "already registered" is a success |
/// | opening that counts | `/video/view` | once: each request counts, and a count does not tell whose it was |
/// | chat message | `/channel/send` | probe: the message's `temp_id` is the id of the intent |
///
/// | feed | what it is |
/// |---|---|
/// | `videos` | all videos, the newest first; leads to the one below |
/// | `chat/{video}/{channel}` | what is said in a chat, the newest messages first |
///
/// **The list** is asked for by age: that order holds every video, as the one by views does, and only new
/// videos move its rows, towards the end. What moves towards the front, as views do by the other order, would
/// be missed. Pages overlap and the list is read again until it shows nothing new, so that videos of one time,
/// which have no order, are not missed, either. It has no end but an empty page. Which unit
/// `created_time` has is told nowhere: see `JSONElement.moment`.
///
/// ## The bridge to chats
///
/// The app speaks with chats by SendBird's SDK, whose own protocol is not public. A server that wants its chats
/// read here gives two routes in the SDK's place; they are Tapedeck's, not SendBird's:
///
/// ```
/// POST /channel/messages  {"channel_url","timestamp","limit","direction"}
///                         {"result":"success","messages":[…]}
/// POST /channel/send      {"session","channel_url","temp_id","text"} or with "file" in the place of "text"
///                         {"result":"success","message":{…}}
/// ```
///
/// `timestamp` is in Unix milliseconds. With `direction` `previous` come the messages before it, the newest
/// first; with `next`, which is not asked for here, those behind it, the oldest first. A page with fewer than
/// `limit` messages is the last. One may hold more, so that it does not end among messages of one time; where it
/// ends there all the same, up to `limit` messages of one time are read. Reading takes no session; 401 says that
/// a session is not known, and `result` is `error`, with a `message`, for what else is wrong. A message is as
/// `BirdTubeDocuments.message` says; it keeps the `temp_id` with which it was sent. Where there is no such route
/// (404), everything else works.
///
/// A reading asks for the newest page of every chat, and on from there to what is known; that an older message
/// is blocked meanwhile is not seen.
package struct BirdTubeConnector: Connector {
    /// The server has no limit.
    static let rowsPerPage: Int64 = 50
    /// How many rows of a page the next one begins with.
    static let rowsOverlap: Int64 = 5
    /// A server that repeats rows without an end is left here.
    static let rowsMax: Int64 = 1_000_000
    /// As many as the app asks for.
    static let messagesPerPage: Int64 = 50
    /// How far the clocks of a chat's servers may differ, in milliseconds.
    static let clockSkew: Int64 = 60_000

    private let projections: VideoProjections

    /// Makes a connector that looks things up in `projections`.
    package init(_ projections: VideoProjections = .standard) { self.projections = projections }

    package var manifest: ConnectorManifest {
        ConnectorManifest(
            system: BirdTube.system, rateCount: 100, rateWindow: 10_000, settling: 5_000,
            freshness: [10_000, 20_000, 40_000, 80_000, 120_000], intentKinds: ["video"],
            isOpen: true)
    }

    package var lookups: [any Projection] {
        [projections.submissions, projections.viewCounts, projections.chat]
    }

    // MARK: - Login

    /// An e-mail address and a password.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.last else {
            try BirdTubeAccount.check(secrets)
            return .send(BirdTubeRequest.signIn(secrets), as: nil)
        }
        return try BirdTubeAccount.signedIn(answer)
    }

    /// The same; the account is called what stands before the "@".
    package func signUp(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.last else {
            try BirdTubeAccount.check(secrets)
            return .send(BirdTubeRequest.signUp(secrets), as: nil)
        }
        return try BirdTubeAccount.signedIn(answer)
    }

    package func authorize(
        _ request: inout RemoteRequest, _ account: RemoteAccount, _ moment: RequestMoment
    ) {
        BirdTubeRequest.add(session: account.token, to: &request)
    }

    // MARK: - Reading

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        [RemotePage("videos")]
    }

    package func request(for page: RemotePage, _ account: RemoteAccount) -> RemoteRequest {
        guard let chat = BirdTubeChat(page) else {
            return BirdTubeRequest.list(offset: Int64(page.place) ?? 0)
        }
        return BirdTubeRequest.messages(of: chat.channel, before: Int64(page.place) ?? .max)
    }

    package func read(
        _ response: RemoteResponse, of page: RemotePage, _ account: RemoteAccount
    ) throws(SyncFailure) -> RemoteContent {
        if let chat = BirdTubeChat(page) { return try read(chat, response, page) }
        let list = try BirdTubeAnswer.list("video_list", of: response)
        var content = RemoteContent()
        var result = IngestResult()
        let context = IngestContext(observedAt: response.date)
        for (index, value) in list.enumerated() {
            let count = result.proposals.count
            guard
                let video = BirdTubeDocuments.addVideo(
                    value, at: "$.video_list[\(index)]", context, &result),
                result.proposals.count > count, video.hasChannel
            else { continue }
            let chat = BirdTubeChat(video: video.video, channel: video.channel)
            content.leads.append((chat.feed, sighting: nil))
        }
        content.sightings = result.proposals
        content.refused = result.refused.map { "\($0.path): \($0.message)" }
        content.moves = true
        let (offset, rows) = (Int64(page.place) ?? 0, Int64(list.count))
        if rows > BirdTubeConnector.rowsMax - offset {
            content.refused.append("the list has no end; \(offset) rows of it were read")
        } else if rows > 0 {
            let overlap = BirdTubeConnector.rowsOverlap
            let step = rows > overlap ? rows - overlap : rows
            content.next = RemotePage(page.feed, String(offset + step))
        }
        return content
    }

    private func read(
        _ chat: BirdTubeChat, _ response: RemoteResponse, _ page: RemotePage
    ) throws(SyncFailure) -> RemoteContent {
        var content = RemoteContent()
        if response.failure?.code == .notFound {
            content.missing = (
                BirdTubeChat.feeds,
                "chats, as the server has no POST \(BirdTubeRequest.messagesPath)"
            )
            return content
        }
        let list = try BirdTubeAnswer.list("messages", of: response)
        var result = IngestResult()
        let context = IngestContext(video: chat.video, observedAt: response.date)
        for (index, value) in list.enumerated() {
            BirdTubeDocuments.addMessage(value, at: "$.messages[\(index)]", context, &result)
        }
        content.sightings = result.proposals
        content.refused = result.refused.map { "\($0.path): \($0.message)" }
        content.next = BirdTubeChat.next(behind: list, before: Int64(page.place) ?? .max).map {
            RemotePage(page.feed, String($0))
        }
        // New messages come in front of all, where the next reading begins: none is missed, and the end of a
        // chat need not be read twice.
        content.stopsWhereKnown = content.next != nil
        return content
    }

    // MARK: - Delivering

    package func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        let types = [
            VideoSubmitted.eventType, ChatMessagePosted.eventType, VideoOpened.eventType,
        ]
        guard types.contains(intent.event.type), VideoKey(tag: intent.key).provider == "youtube"
        else { return .foreign }
        let known = try KnownSubmission(intent.key, views, projections)
        switch intent.event.type {
        case VideoSubmitted.eventType:
            guard !account.isAnonymous else { return BirdTubeConnector.signInRequired }
            return known.isListed
                ? .satisfied
                : .deliver([
                    BirdTubeDelivery.submission(
                        try intent.event.decode(VideoSubmitted.self), VideoKey(tag: intent.key))
                ])
        case ChatMessagePosted.eventType:
            return try say(intent, known, account)
        default:
            guard known.isListed else { return known.isOwn ? notListed(intent) : .foreign }
            switch try KnownOpening(intent.event.id, of: intent.key, views, projections) {
            case .counts: return .deliver([BirdTubeDelivery.view(VideoKey(tag: intent.key))])
            case .told: return .satisfied
            case .idle: return .foreign
            }
        }
    }

    private func say(
        _ intent: Intent, _ known: KnownSubmission, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        guard !account.isAnonymous else { return BirdTubeConnector.signInRequired }
        let message = try intent.event.decode(ChatMessagePosted.self)
        guard !message.hasSender || message.sender == account.user else {
            return .waiting(
                .signInRequired, "\(message.sender) says it, and \(account.user) is signed in")
        }
        guard known.isListed else { return notListed(intent) }
        guard let channel = known.channel else {
            return .waiting(.notThere, "BirdTube does not tell of a chat of \(intent.key.name)")
        }
        // A message of a time that is still to come must not hide the one that is looked for.
        let newest = min(known.newestMessage, Int64(clamping: intent.event.stamp.milliseconds))
        return .deliver([BirdTubeDelivery.message(message, intent.event.id, in: channel, newest)])
    }

    private static let signInRequired = DeliveryPlan.waiting(
        .signInRequired, "nobody is signed in at BirdTube")

    private func notListed(_ intent: Intent) -> DeliveryPlan {
        .waiting(.notThere, "BirdTube does not list \(intent.key.name)")
    }

    package func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        try BirdTubeDelivery.confirm(response, of: intent)
    }

    package func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        try BirdTubeDelivery.find(
            response, delivery.probe, of: intent, baseline: Int64(baseline) ?? 0)
    }
}
