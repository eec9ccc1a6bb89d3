internal import Foundation
internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
package import TapedeckVideo

/// The connector for BirdTube's API: YouTube videos that users submit, with a chat for each.
///
/// Every request is a `POST` with a JSON body. Every response from the API has status 200; the
/// field `result` reports success or failure. Reading requires no login, and sessions never expire.
///
/// | intent | request | safety |
/// |---|---|---|
/// | submission | `/video/register` | `natural`: a video is listed once, and "already registered" counts as success |
/// | video opening that counts as a view | `/video/view` | `once`: each request raises the count, and the count does not show who opened the video |
/// | chat message | `/channel/send` | `probe`: the message's `temp_id` is the id of the intent |
///
/// | feed | contents |
/// |---|---|
/// | `videos` | all videos, newest first; leads to the feed below |
/// | `chat/{video}/{channel}` | the messages of a chat, newest first |
///
/// **The list** is requested sorted by age. In this order the list contains every video, and only
/// new videos move existing rows, always toward the end. If it were sorted by views, rows would
/// also move toward the beginning, and a client that reads page by page would miss them. Videos
/// with equal times have no defined order. To find them all, the connector requests overlapping
/// pages, and reads the list again until it contains nothing new. Only an empty page ends the list.
/// The unit of `created_time` is undocumented; see `JSONElement.moment`.
///
/// ## The bridge to chats
///
/// The app accesses chats through SendBird's SDK, whose protocol is not public. To make its chats
/// available to Tapedeck, a server must offer two routes. Tapedeck defines these routes, not
/// SendBird:
///
/// ```
/// POST /channel/messages  {"channel_url","timestamp","limit","direction"}
///                         {"result":"success","messages":[…]}
/// POST /channel/send      {"session","channel_url","temp_id","text"} or "file" instead of "text"
///                         {"result":"success","message":{…}}
/// ```
///
/// `timestamp` is in Unix milliseconds. With `direction` `previous`, the response contains the
/// messages before that time, newest first; with `next`, which this connector does not use, it
/// contains the messages after that time, oldest first. A page with fewer than `limit` messages is
/// the last page. A page may contain more than `limit` messages, so that it does not end between
/// messages with equal times. If a server nevertheless splits messages with equal times across
/// pages, at most `limit` of these messages are read. Reading requires no session. A 401 means that
/// the session is unknown. For other errors, `result` is `error` and `message` gives the reason.
/// Messages have the form described in `BirdTubeDocuments.message`, and keep the `temp_id` that
/// they were sent with. If the server lacks these routes (404), everything else still works.
///
/// Each pass requests the newest page of every chat, and then older pages until it reaches known
/// messages. A pass does not notice when a known message is blocked later.
package struct BirdTubeConnector: Connector {
    /// The number of rows requested per page; the server has no limit.
    static let rowsPerPage: Int64 = 50
    /// The number of rows by which consecutive pages overlap.
    static let rowsOverlap: Int64 = 5
    /// The number of rows after which reading stops, in case a server repeats rows endlessly.
    static let rowsMax: Int64 = 1_000_000
    /// The number of messages requested per page, as in the app.
    static let messagesPerPage: Int64 = 50
    /// The maximum difference between the clocks of a chat's servers, in milliseconds.
    static let clockSkew: Int64 = 60_000

    private let projections: VideoProjections

    /// Creates a connector that looks up state in `projections`.
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

    /// Logs in with an email address and a password.
    package func login(
        _ secrets: RemoteSecrets, _ answers: [RemoteResponse]
    ) throws(SyncFailure) -> LoginStep {
        guard let answer = answers.last else {
            try BirdTubeAccount.check(secrets)
            return .send(BirdTubeRequest.signIn(secrets), as: nil)
        }
        return try BirdTubeAccount.signedIn(answer)
    }

    /// Creates an account; its nickname is the part of the address before the "@".
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

    private static let videos = "videos"

    package func feeds(_ account: RemoteAccount, now: UInt64) -> [RemotePage] {
        [RemotePage(BirdTubeConnector.videos)]
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
            content.leads.append(FeedLead(chat.feed))
        }
        content.observations = result.proposals
        content.refused = result.refused.map(\.line)
        content.moves = true
        let (offset, rows) = (Int64(page.place) ?? 0, Int64(list.count))
        if rows > BirdTubeConnector.rowsMax - offset {
            content.refused.append("the list does not end; reading stopped after \(offset) rows")
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
                "chats, because the server has no POST \(own: BirdTubeRequest.messagesPath)"
            )
            return content
        }
        let list = try BirdTubeAnswer.list("messages", of: response)
        var result = IngestResult()
        let context = IngestContext(video: chat.video, observedAt: response.date)
        for (index, value) in list.enumerated() {
            BirdTubeDocuments.addMessage(value, at: "$.messages[\(index)]", context, &result)
        }
        content.observations = result.proposals
        content.refused = result.refused.map(\.line)
        content.next = BirdTubeChat.next(behind: list, before: Int64(page.place) ?? .max).map {
            RemotePage(page.feed, String($0))
        }
        content.span = BirdTubeChat.span(of: list, at: response.date)
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
                ? .satisfied(.feed(BirdTubeConnector.videos))
                : .deliver([
                    BirdTubeDelivery.submission(
                        try intent.event.decode(VideoSubmitted.self), VideoKey(tag: intent.key))
                ])
        case ChatMessagePosted.eventType:
            return try say(intent, known, account)
        default:
            guard known.isListed else {
                return known.isOwn && known.refusal == nil ? notListed(intent) : .foreign
            }
            switch try KnownOpening(intent.event.id, of: intent.key, views, projections) {
            case .counts: return .deliver([BirdTubeDelivery.view(VideoKey(tag: intent.key))])
            case .told: return .satisfied(.final)
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
                .conditionFailed,
                "the message is from \(message.sender), but \(account.user) is signed in; the"
                    + " message waits until you drop it")
        }
        if let refusal = known.refusal {
            return .refused(
                refusal.code,
                "the submission of \(intent.key.name) was refused: \(refusal.message)")
        }
        guard known.isListed else { return notListed(intent) }
        guard let channel = known.channel else {
            return .waiting(.notThere, "BirdTube lists no chat for \(intent.key.name)")
        }
        // If the newest known message had a time in the future, the search for the new message
        // would end too early.
        let newest = min(known.newestMessage, Int64(clamping: intent.event.stamp.milliseconds))
        return .deliver([BirdTubeDelivery.message(message, intent.event.id, in: channel, newest)])
    }

    private static let signInRequired = DeliveryPlan.waiting(
        .signInRequired, "not signed in to BirdTube")

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
