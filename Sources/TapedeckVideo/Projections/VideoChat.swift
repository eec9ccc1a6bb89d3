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
/// up a few items, however long the chat is. Table 0 holds one row a video, which is another whenever anything in
/// its chat is: who observes it reads the newest page again.
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
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        A message counts once by its number, as its newest sightings show it; one of the \
        user's own waits until a remote shows it.
        """
    }
    /// One: the videos with a chat.
    public var tables: [String] { ["by-video"] }
    /// Messages that are shown, those that wait, and what became of these.
    public var followedItems: [[UInt8]] {
        [ChatItems.shown, OwnIntents.waiting, OwnIntents.outcomes]
    }

    /// How much was said.
    public struct State: ProjectionState, Equatable {
        /// Messages that remotes show, without those that are blocked.
        public internal(set) var shown: UInt64 = 0
        /// Messages that are blocked.
        public internal(set) var blocked: UInt64 = 0
        /// Messages of the user that no remote shows.
        public internal(set) var waiting: UInt64 = 0
        /// The sum of a checksum of each message that remotes show and of each refusal: it tells that one
        /// of them is another, in whatever order they came.
        var content: UInt64 = 0

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            shown = try bytes.uint64()
            blocked = try bytes.uint64()
            waiting = try bytes.uint64()
            content = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(shown)
            bytes.add(blocked)
            bytes.add(waiting)
            bytes.add(content)
        }
    }

    /// Folds a message or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let more =
            switch event.typeIndex {
            case 0: try key.addIntent(event)
            case 1: try foldSighting(event, into: &key)
            default: try foldOutcome(event, into: &key)
            }
        key.state.waiting = key.state.waiting.advanced(by: more)
    }

    /// One row where anything was said.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        // Outcomes of other intents have this key, too.
        guard state != State() else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// Says by how many more messages of the user wait.
    private func foldOutcome(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws -> Int {
        guard let (intent, _) = try IntentOutcome.read(event.payload, order: event.order) else {
            return 0
        }
        let name = OwnIntents.outcome(intent)
        let held = key.item(name)
        let more = try key.addOutcome(event)
        note(name, from: held, to: key.item(name), &key.state)
        return more
    }

    /// Says by how many more messages of the user wait.
    private func foldSighting(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws -> Int {
        let sighting = try event.decode(ChatMessageObserved.self).normalized()
        let pointer = ChatItems.pointer(sighting.message)
        let held = key.item(pointer)
        var stack = SightingStack<ChatMessageObserved>()
        let before = held.flatMap { key.item(RowKey($0)) }
        if held != nil {
            guard let before else {
                throw ModelError(.damaged, "a message's item is missing")
            }
            stack = try ChatItems.stack(before)
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
            let bytes = ChatItems.bytes(stack)
            key.setItem(name, bytes)
            note(pointer, from: before, to: bytes, &key.state)
        }
        return try sighting.posted.map { event throws(ModelError) in try key.showIntent(event) }
            ?? 0
    }

    /// Takes what one of the parts was out of the sum and what it is into it.
    private func note(
        _ name: RowKey, from old: [UInt8]?, to new: [UInt8]?, _ state: inout State
    ) {
        func checksum(_ bytes: [UInt8]) -> UInt64 {
            UInt64((name.bytes + bytes).withUnsafeBytes { crc32c($0) })
        }
        if let old { state.content &-= checksum(old) }
        if let new { state.content &+= checksum(new) }
    }

    private func count(_ name: [UInt8], _ state: inout State, _ change: (inout UInt64) -> Void) {
        if name.starts(with: ChatItems.blocked) {
            change(&state.blocked)
        } else {
            change(&state.shown)
        }
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
