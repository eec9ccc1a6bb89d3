internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// What is said in the chats of videos: what remotes show, and what the user has said and none shows yet.
///
/// A message is one by its number, however often it is seen. Items, beside the user's own messages as
/// `OwnIntents` says:
///
/// | name | value |
/// |---|---|
/// | `m` time number | a message: the `SightingStack` of it |
/// | `h` time number | one that is blocked |
/// | `n` number | the item's name |
///
/// Times and numbers lie in falling order, so that the newest messages are read from the front. A fold looks
/// up a few items, however long the chat is.
public struct VideoChat: Projection {
    /// Makes the projection.
    public init() {}

    /// `chat`.
    public var name: String { "chat" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// What is said here, what remotes show, and what became of the former.
    public var eventTypes: [EventType] {
        [ChatMessagePosted.eventType, ChatMessageObserved.eventType, IntentOutcome.eventType]
    }
    /// Any: a message's sightings merge by their order, and own messages wait by themselves.
    public var law: FoldLaw { .any }

    /// How much was said.
    public struct State: ProjectionState, Equatable {
        /// Messages that remotes show, without those that are blocked.
        var shown: UInt64 = 0
        /// Messages that are blocked.
        var blocked: UInt64 = 0
        /// Messages of the user that no remote shows.
        var waiting: UInt64 = 0

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            shown = try bytes.uint64()
            blocked = try bytes.uint64()
            waiting = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(shown)
            bytes.add(blocked)
            bytes.add(waiting)
        }
    }

    /// Folds a message or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let more =
            switch event.typeIndex {
            case 0: try key.addIntent(event)
            case 1: try foldSighting(event, into: &key)
            default: try key.addOutcome(event)
            }
        key.state.waiting = key.state.waiting.advanced(by: more)
    }

    /// Says by how many more messages of the user wait.
    private func foldSighting(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws -> Int {
        let sighting = try event.decode(ChatMessageObserved.self).normalized()
        let pointer = ChatItems.pointer(sighting.message)
        let held = key.item(pointer)
        var stack = SightingStack<ChatMessageObserved>()
        if let held {
            guard let bytes = key.item(RowKey(held)) else {
                throw ModelError(.damaged, "a message's item is missing")
            }
            stack = try ChatItems.stack(bytes)
        }
        let isNews = stack.add(sighting, payload: event.payload, order: event.order)
        if isNews, let merged = stack.merged {
            let name = ChatItems.name(merged)
            if held != name.bytes {
                if let held {
                    key.removeItem(RowKey(held))
                    count(held, &key.state) { $0 -= 1 }
                }
                count(name.bytes, &key.state) { $0 += 1 }
                key.setItem(pointer, name.bytes)
            }
            key.setItem(name, ChatItems.bytes(stack))
        }
        return try sighting.posted.map { event throws(ModelError) in try key.showIntent(event) }
            ?? 0
    }

    private func count(_ name: [UInt8], _ state: inout State, _ change: (inout UInt64) -> Void) {
        if name.starts(with: ChatItems.blocked) {
            change(&state.blocked)
        } else {
            change(&state.shown)
        }
    }
}

/// The names of a chat's items; see `VideoChat`.
enum ChatItems {
    static let shown: [UInt8] = [UInt8(ascii: "m")]
    static let blocked: [UInt8] = [UInt8(ascii: "h")]
    private static let pointers: [UInt8] = [UInt8(ascii: "n")]

    static func pointer(_ number: Int64) -> RowKey {
        var bytes = pointers
        bytes.appendBigEndian(UInt64(bitPattern: number))
        return RowKey(bytes)
    }

    static func name(_ message: ChatMessageObserved) -> RowKey {
        var bytes = message.isBlocked ? blocked : shown
        bytes += place(time: message.at.milliseconds, number: message.message)
        return RowKey(bytes)
    }

    /// Where a message lies in its list: the newest in front.
    static func place(time: Int64, number: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(~UInt64(bitPattern: time))
        bytes.appendBigEndian(~UInt64(bitPattern: number))
        return bytes
    }

    /// Behind all messages of a time and later, and in front of all earlier ones.
    static func end(of time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(~UInt64(bitPattern: time))
        return bytes + [UInt8](repeating: 0xFF, count: 8)
    }

    static func stack(_ bytes: [UInt8]) throws(ModelError) -> SightingStack<ChatMessageObserved> {
        try StateReader.read(bytes) { (reader) throws(ModelError) in
            try SightingStack(decoding: &reader)
        }
    }

    static func bytes(_ stack: SightingStack<ChatMessageObserved>) -> [UInt8] {
        var writer = StateWriter()
        stack.encode(into: &writer)
        return writer.bytes
    }
}

extension ChatMessageObserved: PartialSighting {
    static let sightingFields: [SightingField<ChatMessageObserved>] = [
        SightingField(\.message),
        SightingField(\.video),
        SightingField(\.hasKind, \.kind),
        SightingField(\.hasText, \.text),
        SightingField(\.hasFile, \.file),
        SightingField(\.hasSender, \.sender),
        SightingField(\.hasSenderName, \.senderName),
        SightingField(\.hasSenderImage, \.senderImage),
        SightingField(\.hasAt, \.at),
        SightingField(\.hasIsGuest, \.isGuest),
        SightingField(\.hasIsOperator, \.isOperator),
        SightingField(\.hasIsBlocked, \.isBlocked),
        SightingField(\.hasTempID, \.tempID),
        SightingField(\.hasPostedAs, \.postedAs),
    ]
}
