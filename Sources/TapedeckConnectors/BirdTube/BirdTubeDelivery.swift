internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// What is sent for each intent, and what the server's answers say.
enum BirdTubeDelivery {
    static func submission(_ submission: VideoSubmitted, _ key: VideoKey) -> Delivery {
        Delivery(safety: .natural, request: BirdTubeRequest.register(submission, key))
    }

    static func view(_ key: VideoKey) -> Delivery {
        // Others open it as well: that the list counts more does not tell that this one arrived.
        Delivery(safety: .once, request: BirdTubeRequest.view(key))
    }

    /// - Parameter newest: when the newest message was said that is known there.
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
            // It answers `{}`, whatever it did.
            if let failure = response.failure { throw failure }
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
                    .notFound, "the server has no POST \(BirdTubeRequest.sendPath)",
                    hint: "its chats can be read and written by its own app only")
            }
            let answer = try BirdTubeAnswer.element(response)
            // It was done, and what is shown of it cannot be read: it is looked for.
            guard let message = try? answer.object("message").value,
                let confirmation = try? confirmation(of: message, intent, response)
            else { return .askLater }
            return confirmation
        }
    }

    /// Looks for a message by the name that it was sent with, back to what was there when it was sent.
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

    /// What a message says of the intent that it came of; nil where it has another name than wanted.
    private static func confirmation(
        of row: JSONElement, _ intent: Intent, _ response: RemoteResponse, named name: String? = nil
    ) throws -> Confirmation? {
        let video = VideoKey(tag: intent.key).text
        var message = try BirdTubeDocuments.message(row, of: video)
        guard name == nil || message.tempID == name else { return nil }
        let id = intent.event.id.description
        // Where its name tells it, the sighting is the same as that of the chat's next page.
        if message.tempID != id { message.postedAs = id }
        return Confirmation(
            remoteID: "message/\(message.message)",
            sightings: [try ProposedEvent(sighting: message, observedAt: response.date)])
    }
}

/// The chat of a video, and how its pages follow on each other.
struct BirdTubeChat: Hashable {
    /// What all feeds of chats begin with.
    static let feeds = "chat/"

    var video: String
    var channel: String

    init(video: String, channel: String) {
        self.video = video
        self.channel = channel
    }

    /// Reads what `feed` gives; nil for another feed.
    init?(_ page: RemotePage) {
        guard page.feed.hasPrefix(BirdTubeChat.feeds) else { return nil }
        let parts = page.feed.dropFirst(BirdTubeChat.feeds.count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(video: String(parts[0]), channel: String(parts[1]))
    }

    var feed: RemotePage { RemotePage(BirdTubeChat.feeds + "\(video)/\(channel)") }

    /// Before which time the next page lies; nil where this one is the last.
    static func next(behind list: [JSONValue], before time: Int64) -> Int64? {
        let times = list.compactMap { value in
            (try? JSONElement(value, at: "$").integer("timestamp"))?.value
        }
        guard list.count >= BirdTubeConnector.messagesPerPage,
            let oldest = times.filter(Timestamps.recorded.contains).min(), oldest < time
        else { return nil }
        // Others of the oldest time may have found no place, unless all of the page is of that time.
        return oldest + 1 < time ? oldest + 1 : oldest
    }
}
