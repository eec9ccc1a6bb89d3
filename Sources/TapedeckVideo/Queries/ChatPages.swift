internal import TapedeckModel
internal import TapedeckProjections

/// A page of a video's chat.
public struct ChatPage: Codable, Hashable, Sendable {
    /// The messages, oldest first; on the newest page those of the user that no remote shows yet are last.
    public var messages: [ChatEntry]
    /// The cursor of the page with older messages; nil where there are none.
    @NullWhenNil public var next: String?
}

/// A message in a video's chat.
public struct ChatEntry: Codable, Hashable, Sendable {
    /// How far a message is.
    public enum State: String, Codable, Sendable {
        /// The user has said it, and no remote shows it.
        case waiting
        /// A remote has refused it.
        case refused
        /// A remote shows it.
        case shown
    }

    /// A file that is sent.
    public struct File: Codable, Hashable, Sendable {
        /// Where it can be had.
        public var url: String
        /// Its name.
        public var name: String
        /// Its media type.
        public var type: String
        /// How large it is, in bytes.
        public var bytes: Int
    }

    /// Who says something.
    public struct Sender: Codable, Hashable, Sendable {
        /// The remote's name of the sender.
        @NullWhenNil public var id: String?
        /// What the sender is called.
        @NullWhenNil public var name: String?
        /// Where the sender's picture is.
        @NullWhenNil public var image: String?
    }

    /// The message's number; while no remote shows it, the id of the event.
    public var id: String
    /// What kind it is of: `text`, `file`, `system` or `broadcast`.
    public var kind: String
    /// What is said.
    @NullWhenNil public var text: String?
    /// The file that is sent.
    @NullWhenNil public var file: File?
    /// Who says it; nil where nobody is named.
    @NullWhenNil public var sender: Sender?
    /// When it was said.
    public var at: UTCTime
    /// Whether the sender has no account.
    public var isGuest: Bool
    /// Whether it is said by somebody who runs the chat.
    public var isOperator: Bool
    /// Whether it is hidden from those who do not ask for it.
    public var isBlocked: Bool
    /// How far it is.
    public var state: State
    /// Why it was refused, as a code.
    @NullWhenNil public var code: String?
    /// Why it was refused, as a sentence.
    @NullWhenNil public var message: String?
}

extension QueryLimits {
    /// How many messages of one millisecond a page takes beyond its limit, so that it does not end among
    /// them.
    public static let chatTiesMax = 10_000
    /// How many messages that no remote shows a page has at the most.
    public static let waitingMessagesMax = 10_000
}

extension VideoQueries {
    /// What is said in the chat of a video: the newest messages, or those before a time or a page.
    ///
    /// A page holds more than `limit` messages where several have the time of its oldest one, so that the
    /// time of that one leads on: asking again with it as `before` repeats nothing and leaves nothing out.
    /// With more than `QueryLimits.chatTiesMax` of one time only `cursor` does. Costs what the page holds,
    /// however long the chat is. Throws `ModelError` with `.signInRequired` where nobody is signed in and
    /// `isGuestAllowed` is not set.
    ///
    /// - Parameters:
    ///   - video: its key, or any URL form of it.
    ///   - before: only what was said before it, in Unix milliseconds; nil for the newest.
    ///   - isWithBlocked: whether messages that are blocked are given, too.
    ///   - isGuestAllowed: whether those may read who are not signed in.
    ///   - limit: how many, besides those of the oldest one's time and those that wait.
    ///   - cursor: the `next` of the page before; it goes before `before`.
    public func chat(
        video: String, before: Int64? = nil, isWithBlocked: Bool = false,
        isGuestAllowed: Bool = false, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> ChatPage {
        try QueryLimits.check(limit)
        if !isGuestAllowed { _ = try requireSignedIn() }
        let key = try VideoKey(video).tag
        let place = try PageCursor.key(.chat, cursor) ?? before.map(ChatItems.end(of:))
        var found = try messages(key, after: place, isWithBlocked, limit: limit + 1)
        while found.count > limit, found.count < limit + QueryLimits.chatTiesMax,
            let last = found.last, found[limit - 1].key.prefix(8) == last.key.prefix(8)
        {
            let more = try messages(key, after: last.key, isWithBlocked, limit: limit)
            guard !more.isEmpty else { break }
            found += more
        }
        let end = ChatPage.end(of: found.map(\.key), limit: limit)
        var entries = try found[..<end].reversed().map { try shownMessage($0.value) }
        if place == nil { entries += try waitingMessages(key) }
        return ChatPage(
            messages: entries,
            next: end < found.count ? PageCursor.text(.chat, found[end - 1].key) : nil)
    }

    /// Messages behind a place, the newest first; their keys are places.
    private func messages(
        _ key: Tag, after place: [UInt8]?, _ isWithBlocked: Bool, limit: Int
    ) throws -> [Row] {
        func rows(_ list: [UInt8]) throws -> [Row] {
            try reader.items(
                of: projections.chat, key: key, prefix: RowKey(list),
                after: place.map { list + $0 },
                limit: limit
            ).map { Row(key: Array($0.key.dropFirst()), value: $0.value) }
        }
        var found = try rows(ChatItems.shown)
        guard isWithBlocked else { return found }
        found += try rows(ChatItems.blocked)
        found.sort { $0.key.lexicographicallyPrecedes($1.key) }
        return Array(found.prefix(limit))
    }

    /// A message that a remote shows.
    func shownMessage(_ bytes: [UInt8]) throws -> ChatEntry {
        let message = try ChatItems.stack(bytes).merged ?? ChatMessageObserved()
        let isNamed = message.hasSender || message.hasSenderName || message.hasSenderImage
        return ChatEntry(
            id: String(message.message),
            kind: message.hasKind ? message.kind : message.hasFile ? "file" : "text",
            text: message.hasText ? message.text : nil,
            file: message.hasFile ? ChatEntry.File(message.file) : nil,
            sender: isNamed
                ? ChatEntry.Sender(
                    id: message.hasSender ? message.sender : nil,
                    name: message.hasSenderName ? message.senderName : nil,
                    image: message.hasSenderImage ? message.senderImage : nil) : nil,
            at: UTCTime(milliseconds: message.at.milliseconds), isGuest: message.isGuest,
            isOperator: message.isOperator, isBlocked: message.isBlocked, state: .shown)
    }

    private func waitingMessages(_ key: Tag) throws -> [ChatEntry] {
        try reader.items(
            of: projections.chat, key: key, prefix: RowKey(OwnIntents.waiting), after: nil,
            limit: QueryLimits.waitingMessagesMax
        ).compactMap { try waitingMessage($0.value, key) }
    }

    /// A message of the user that no remote shows; nil where it is none.
    func waitingMessage(_ event: [UInt8], _ key: Tag) throws -> ChatEntry? {
        guard
            let bytes = try reader.item(
                of: projections.chat, key: key, name: OwnIntents.intent(event))
        else { return nil }
        let own = try OwnIntent(decoding: bytes)
        let posted = try ChatMessagePosted(payload: own.payload)
        let outcome = try reader.item(
            of: projections.chat, key: key, name: OwnIntents.outcome(event)
        ).map { try IntentOutcome(decoding: $0) }
        let refusal = outcome.flatMap { $0.kind == .refused ? $0 : nil }
        return ChatEntry(
            id: own.event.description, kind: posted.hasFile ? "file" : "text",
            text: posted.hasText ? posted.text : nil,
            file: posted.hasFile ? ChatEntry.File(posted.file) : nil,
            sender: posted.hasSender
                ? ChatEntry.Sender(
                    id: posted.sender, name: try nickname(of: posted.sender)) : nil,
            at: UTCTime(milliseconds: own.at), isGuest: false, isOperator: false,
            isBlocked: false, state: refusal == nil ? .waiting : .refused,
            code: refusal?.code, message: refusal?.message)
    }
}

extension ChatPage {
    /// How many messages a page has: as many as wanted, and those of the last one's time.
    fileprivate static func end(of places: [[UInt8]], limit: Int) -> Int {
        guard places.count > limit else { return places.count }
        let time = places[limit - 1].prefix(8)
        let ties = places[limit...].prefix { $0.prefix(8) == time }.count
        return limit + min(ties, QueryLimits.chatTiesMax)
    }
}

extension ChatEntry.File {
    init(_ file: ChatFile) {
        self.init(
            url: file.url, name: file.name, type: file.type, bytes: Int(clamping: file.bytes))
    }
}
