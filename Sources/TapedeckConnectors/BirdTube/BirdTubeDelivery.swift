internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The requests for each intent, and the confirmations in the server's responses.
enum BirdTubeDelivery {
    static func submission(_ submission: VideoSubmitted, _ key: VideoKey) -> Delivery {
        Delivery(safety: .natural, request: BirdTubeRequest.register(submission, key))
    }

    static func view(_ key: VideoKey) -> Delivery {
        // Other users open the video too, so a higher count does not prove that this request
        // arrived.
        Delivery(safety: .once, request: BirdTubeRequest.view(key))
    }

    /// Returns the delivery of a chat message.
    ///
    /// - Parameter newest: The time of the newest known message.
    static func message(
        _ message: ChatMessagePosted, _ event: EventID, in channel: String, _ newest: Int64
    ) -> Delivery {
        Delivery(
            safety: .probe,
            request: BirdTubeRequest.send(message, named: event.description, to: channel),
            probe: BirdTubeRequest.messages(of: channel, before: .max), baseline: String(newest))
    }

    static func confirm(
        _ response: RemoteResponse, of intent: Intent
    ) throws(SyncFailure) -> Confirmation {
        switch intent.event.type {
        case VideoOpened.eventType:
            // The response is `{}` whether or not the request took effect.
            _ = try BirdTubeAnswer.object(response)
            return Confirmation()
        case VideoSubmitted.eventType:
            guard BirdTubeAnswer.message(response) != "The video is already registered." else {
                return Confirmation()
            }
            _ = try BirdTubeAnswer.element(response)
            return Confirmation()
        default:
            if response.failure?.code == .notFound {
                throw SyncFailure(
                    .notFound, "the server has no POST \(own: BirdTubeRequest.sendPath)",
                    hint: "chats on this server can be used only in the server's own app")
            }
            let answer = try BirdTubeAnswer.element(response)
            // The request succeeded but its response cannot be read, so look for the message.
            guard let message = try? answer.object("message").value,
                let confirmation = try? confirmation(of: message, intent, response)
            else { return .askLater }
            return confirmation
        }
    }

    /// Searches for a sent message by its `temp_id`, back to the newest message that was known
    /// before sending.
    static func find(
        _ response: RemoteResponse, _ probe: RemoteRequest?, of intent: Intent, baseline: Int64
    ) throws(SyncFailure) -> ProbeResult {
        let list = try BirdTubeAnswer.list("messages", of: response)
        let name = intent.event.id.description
        for (index, value) in list.enumerated() {
            guard let row = try? JSONElement(value, at: "$.messages[\(index)]"),
                let confirmation = try? confirmation(of: row, intent, response, named: name)
            else { continue }
            return .found(confirmation)
        }
        guard let asked = BirdTubeRequest.chat(askedBy: probe),
            let next = BirdTubeChat.next(behind: list, before: asked.before),
            next >= baseline - BirdTubeConnector.clockSkew
        else { return .missing }
        return .ask(BirdTubeRequest.messages(of: asked.channel, before: next))
    }

    /// Returns the confirmation of an intent, read from its chat message; nil if `name` is set and
    /// differs from the message's `temp_id`.
    private static func confirmation(
        of row: JSONElement, _ intent: Intent, _ response: RemoteResponse, named name: String? = nil
    ) throws -> Confirmation? {
        let video = VideoKey(tag: intent.key).text
        var message = try BirdTubeDocuments.message(row, of: video)
        guard name == nil || message.tempID == name else { return nil }
        let id = intent.event.id.description
        // If the message's `temp_id` already identifies the intent, leave `postedAs` empty, so that
        // the next observation read from the chat equals this observation.
        if message.tempID != id { message.postedAs = id }
        return Confirmation(
            remoteID: "message/\(message.message)",
            observations: [try ProposedEvent(observation: message, observedAt: response.date)])
    }
}

/// The chat of a video, and the order of its pages.
struct BirdTubeChat: Hashable {
    /// The common prefix of all chat feeds.
    static let feeds = "chat/"

    var video: String
    var channel: String

    init(video: String, channel: String) {
        self.video = video
        self.channel = channel
    }

    /// Parses the feed of a page; nil for another kind of feed.
    init?(_ page: RemotePage) {
        guard page.feed.hasPrefix(BirdTubeChat.feeds) else { return nil }
        let parts = page.feed.dropFirst(BirdTubeChat.feeds.count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(video: String(parts[0]), channel: String(parts[1]))
    }

    var feed: RemotePage { RemotePage(BirdTubeChat.feeds + "\(video)/\(channel)") }

    /// Returns the time before which the next page begins; nil if this page is the last.
    static func next(behind list: [JSONValue], before time: Int64) -> Int64? {
        guard list.count >= BirdTubeConnector.messagesPerPage,
            let oldest = times(of: list).min(), oldest < time
        else { return nil }
        // Request the oldest time again, because more messages may have that time. If all messages
        // on the page have the same time, continue before that time.
        return oldest + 1 < time ? oldest + 1 : oldest
    }

    /// The period, in milliseconds, during which a late message may still appear below newer ones.
    private static let lookBack: Int64 = 60_000

    /// Returns the period of the chat that a page covers; nil if the page contains no messages.
    ///
    /// - Parameter now: The time of the response, in Unix milliseconds, if known.
    static func span(of list: [JSONValue], at now: Int64?) -> FeedSpan? {
        let times = times(of: list)
        guard let newest = times.max(), let oldest = times.min() else { return nil }
        return FeedSpan(settled: min(newest, (now ?? newest) - lookBack), oldest: oldest)
    }

    private static func times(of list: [JSONValue]) -> [Int64] {
        list.compactMap { (try? JSONElement($0, at: "$").integer("timestamp"))?.value }
            .filter(Timestamps.recorded.contains)
    }
}
