internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The chats of videos: messages that remotes show, and the user's own messages that no remote
/// shows yet.
///
/// A message is identified by its number and is counted once, regardless of how often it is seen.
/// The user's own messages are stored as described in `OwnIntents`. The other items are:
///
/// | name | value |
/// |---|---|
/// | `m` time number | a visible message: its `ObservationStack` |
/// | `h` time number | a blocked message: its `ObservationStack` |
/// | `n` number | the name of the message's item |
///
/// Times and numbers are stored in descending order, so the newest messages are read first. A fold
/// looks up a few items, regardless of the length of the chat. Table 0 contains one row per video.
/// The row changes whenever anything in the chat changes, so an observer knows when to read the
/// newest page again.
public struct VideoChat: Projection {
    /// Creates the projection.
    public init() {}

    /// `chat`.
    public var name: String { "chat" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Messages posted here, messages that remotes show, and the outcomes of posted messages.
    public var eventTypes: [EventType] {
        [ChatMessagePosted.eventType, ChatMessageObserved.eventType, IntentOutcome.eventType]
    }
    /// Events can be folded in any order, because a message's observations are merged by their
    /// place in canonical order, not by their arrival, and posted messages do not affect each
    /// other.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        Each message is counted once, identified by its number, with the content of its newest \
        observations; the user's own messages are pending until a remote shows them.
        """
    }
    /// One table, which contains the videos that have a chat.
    public var tables: [String] { ["by-video"] }
    /// Visible messages, waiting messages, and the outcomes of waiting messages.
    public var followedItems: [[UInt8]] {
        [ChatItems.shown, OwnIntents.waiting, OwnIntents.outcomes]
    }

    /// The size of a chat.
    public struct State: ProjectionState, Equatable {
        /// The number of messages that remotes show, excluding blocked messages.
        public internal(set) var shown: UInt64 = 0
        /// The number of blocked messages.
        public internal(set) var blocked: UInt64 = 0
        /// The number of the user's messages that no remote shows yet.
        public internal(set) var waiting: UInt64 = 0
        /// The sum of the checksums of all messages and outcomes.
        ///
        /// The sum changes whenever a message or an outcome changes, and it does not depend on
        /// their order.
        var content: UInt64 = 0

        /// Creates the state of an empty chat.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            shown = try bytes.uint64()
            blocked = try bytes.uint64()
            waiting = try bytes.uint64()
            content = try bytes.uint64()
        }

        /// Encodes the state.
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
            case 1: try foldObservation(event, into: &key)
            default: try foldOutcome(event, into: &key)
            }
        key.state.waiting = key.state.waiting.advanced(by: more)
    }

    /// Adds a row if the chat is not empty.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        // Outcomes of other intents also have this key.
        guard state != State() else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// Returns the change in the number of waiting messages.
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

    /// Returns the change in the number of waiting messages.
    private func foldObservation(
        _ event: borrowing FoldEvent, into key: inout KeyedState<State>
    ) throws -> Int {
        let observation = try event.decode(ChatMessageObserved.self).normalized()
        let pointer = ChatItems.pointer(observation.message)
        let held = key.item(pointer)
        var stack = ObservationStack<ChatMessageObserved>()
        let before = held.flatMap { key.item(RowKey($0)) }
        if held != nil {
            guard let before else {
                throw ModelError(.damaged, "a message's item is missing")
            }
            stack = try ChatItems.stack(before)
        }
        let isNew = stack.add(observation, payload: event.payload, order: event.order)
        if isNew, let merged = stack.merged {
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
        return try observation.posted.map { event throws(ModelError) in try key.showIntent(event) }
            ?? 0
    }

    /// Replaces the checksum of an item in `content`.
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

extension ChatMessageObserved: PartialObservation {
    static let observationFields: [ObservationField<ChatMessageObserved>] = [
        ObservationField(\.message),
        ObservationField(\.video),
        ObservationField(\.hasKind, \.kind),
        ObservationField(\.hasText, \.text),
        ObservationField(\.hasFile, \.file),
        ObservationField(\.hasSender, \.sender),
        ObservationField(\.hasSenderName, \.senderName),
        ObservationField(\.hasSenderImage, \.senderImage),
        ObservationField(\.hasAt, \.at),
        ObservationField(\.hasIsGuest, \.isGuest),
        ObservationField(\.hasIsOperator, \.isOperator),
        ObservationField(\.hasIsBlocked, \.isBlocked),
        ObservationField(\.hasTempID, \.tempID),
        ObservationField(\.hasPostedAs, \.postedAs),
    ]
}
