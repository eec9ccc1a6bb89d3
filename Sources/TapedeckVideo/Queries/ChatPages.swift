internal import TapedeckModel
internal import TapedeckProjections

/// A page of a video's chat.
public struct ChatPage: Codable, Hashable, Sendable {
    /// The messages, oldest first.
    ///
    /// The page with the newest messages ends with the user's messages that no remote shows yet.
    public var messages: [ChatEntry]
    /// The cursor of the page with older messages; nil if there are no older messages.
    @NullWhenNil public var next: String?
}

/// A message in a video's chat.
public struct ChatEntry: Codable, Hashable, Sendable {
    /// The state of a message.
    public enum State: String, Codable, Sendable {
        /// The user posted the message, and no remote shows it yet.
        case waiting
        /// A remote refused the message.
        case refused
        /// A remote shows the message.
        case shown
    }

    /// A file in a message.
    public struct File: Codable, Hashable, Sendable {
        /// The URL of the file.
        public var url: String
        /// The file's name.
        public var name: String
        /// The file's media type.
        public var type: String
        /// The file's size in bytes.
        public var bytes: Int
    }

    /// The sender of a message.
    public struct Sender: Codable, Hashable, Sendable {
        /// The sender's id on the remote.
        @NullWhenNil public var id: String?
        /// The sender's name.
        @NullWhenNil public var name: String?
        /// The URL of the sender's picture.
        @NullWhenNil public var image: String?
    }

    /// The message's number or, until a remote shows the message, the id of the event that posted
    /// it.
    public var id: String
    /// The kind of message: `text`, `file`, `system` or `broadcast`.
    public var kind: String
    /// The text of the message.
    @NullWhenNil public var text: String?
    /// The file in the message.
    @NullWhenNil public var file: File?
    /// The sender; nil if unknown.
    @NullWhenNil public var sender: Sender?
    /// The time at which the message was posted.
    public var at: UTCTime
    /// Whether the sender has no account.
    public var isGuest: Bool
    /// Whether an operator of the chat sent the message.
    public var isOperator: Bool
    /// Whether the message is hidden by default.
    public var isBlocked: Bool
    /// The state of the message.
    public var state: State
    /// The error code if the message was refused.
    @NullWhenNil public var code: String?
    /// The error message if the message was refused.
    @NullWhenNil public var message: String?
}

extension QueryLimits {
    /// The maximum number of extra messages on a page.
    ///
    /// A page may exceed its limit so that it does not end between messages of the same
    /// millisecond.
    public static let chatTiesMax = 10_000
    /// The maximum number, per page, of the user's messages that no remote shows yet.
    public static let waitingMessagesMax = 10_000
}

extension VideoQueries {
    /// Returns the newest messages in a video's chat, or the messages before a time or before
    /// another page.
    ///
    /// A page contains more than `limit` messages if several messages share the time of its oldest
    /// message. The time of the oldest message can therefore be passed as `before` to continue
    /// without gaps or repeats. If more than `QueryLimits.chatTiesMax` messages share one time, use
    /// `cursor` instead, because `before` would skip some of them. The cost depends on the size of
    /// the page, not on the length of the chat. Throws `ModelError` with `.signInRequired` if the
    /// user is not signed in and `isGuestAllowed` is false.
    ///
    /// - Parameters:
    ///   - video: The video's key, or any of its URLs.
    ///   - before: The time before which messages are returned, in milliseconds since 1970; nil for
    ///     the newest messages.
    ///   - isWithBlocked: Whether to include blocked messages.
    ///   - isGuestAllowed: Whether users who are not signed in may read the chat.
    ///   - limit: The number of messages, not counting pending messages and extra messages with the
    ///     same time as the oldest message.
    ///   - cursor: The `next` of the previous page; it takes precedence over `before`.
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

    /// Returns the messages after a position, newest first; the keys of the rows are positions.
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

    /// Decodes a message that a remote shows.
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

    /// Returns a message of the user that no remote shows yet, or nil if the event is unknown.
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
        let refusal = outcome?.refusal
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
    /// Returns the number of messages on a page: up to `limit`, plus any further messages with the
    /// same time as the last one.
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
