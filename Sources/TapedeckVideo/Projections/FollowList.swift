public import TapedeckModel
public import TapedeckProjections

/// The followers of each user, or the users whom each user follows.
///
/// An *edge* connects a follower with a followed user. The user's last toggle determines whether an
/// edge exists. The newest observation decides instead if there is no toggle, if the user dropped
/// the toggle, or if the observation is newer than a remote's confirmation of the toggle.
///
/// Items: `e` user → `Edge`: the edge to that user; `f` user → user: an existing edge, sorted by
/// the number in the user's id; and `i` event-id → the user whose edge a toggle changes. Outcomes
/// are stored as described in `OutcomeItems`.
public struct FollowList: Projection {
    /// Whether the key is the follower or the followed user of an edge.
    public enum Direction: Sendable {
        /// The key is the followed user; the list contains the user's followers.
        case followers
        /// The key is the follower; the list contains the followed users.
        case following
    }

    /// Whether the key is the follower or the followed user of an edge.
    public let direction: Direction

    /// Creates the projection.
    public init(_ direction: Direction) { self.direction = direction }

    /// `followers` or `following`.
    public var name: String { direction == .followers ? "followers" : "following" }
    /// 1.
    public var version: Int { 1 }
    /// `user` for followed users, `follower` for followers.
    public var tagKind: String { direction == .followers ? "user" : "follower" }
    /// The event types of toggles, observations and outcomes.
    public var eventTypes: [EventType] {
        [FollowToggled.eventType, FollowObserved.eventType, IntentOutcome.eventType]
    }
    /// Events can be folded in any order, because only the last toggle, the last observation and
    /// the last outcome of an edge are used.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The user's last toggle (a follow or an unfollow) determines whether a follower follows a \
        user. The newest observation decides instead if there is no toggle, if the user dropped \
        the toggle, or if the observation is newer than a remote's confirmation of the toggle.
        """
    }
    /// The only table, which contains the number of existing edges by key, so that observers of
    /// this number are notified of changes.
    public var tables: [String] { ["counts"] }
    /// All known edges, and the existing edges.
    public var followedItems: [[UInt8]] { [Edge.prefix, Edge.listedPrefix] }

    /// The number of existing edges of a key.
    public struct State: ProjectionState, Equatable {
        /// The number of existing edges.
        public private(set) var count: UInt64 = 0

        /// Creates the initial state.
        public init() {}

        fileprivate mutating func change(by difference: Int) {
            count = count &+ UInt64(bitPattern: Int64(difference))
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { count = try bytes.uint64() }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) { bytes.add(count) }
    }

    /// Folds a toggle, an observation or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let (other, isOn) = try read(event.payload)
            var own = OwnToggle(event, isOn: isOn)
            own.outcome = try key.outcome(of: own.intent)
            key.setItem(Edge.intent(own.intent), Array(other.utf8))
            try change(other, in: &key) { edge in
                guard edge.own.map({ $0.order < own.order }) ?? true else { return }
                edge.own = own
            }
        case 1:
            let (other, isOn) = try read(event.payload)
            let order = event.order
            try change(other, in: &key) { edge in
                guard edge.shownOrder.map({ $0 < order }) ?? true else { return }
                (edge.shownOrder, edge.isShown) = (order, isOn)
            }
        default:
            guard let (intent, outcome) = try key.takeOutcome(event),
                let other = key.item(Edge.intent(intent))
            else { return }
            try change(other.utf8Text, in: &key) { edge in
                if edge.own?.intent == intent { edge.own?.outcome = outcome }
            }
        }
    }

    /// Reads a toggle or an observation: the user at the other end of the edge, and whether the
    /// edge exists.
    private func read(_ payload: RawSpan) throws(ModelError) -> (other: String, isOn: Bool) {
        // The field numbers are defined in schema/tapedeck/video/v1/answers.proto.
        let end = direction == .followers ? 2 : 1
        var (other, isOn): (String, Bool) = ("", false)
        var fields = WireFields(payload)
        while let field = fields.next() {
            if field.number == end { other = fields.string(field) }
            if field.number == 3 { isOn = field.uint64 != 0 }
        }
        guard !other.isEmpty, !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload does not say who follows whom")
        }
        return (other, isOn)
    }

    private func change(
        _ other: String, in key: inout KeyedState<State>, _ body: (inout Edge) -> Void
    ) throws(ModelError) {
        let name = Edge.name(other)
        var edge = try key.item(name).map { bytes throws(ModelError) in
            try Edge(decoding: bytes)
        }
        let wasOn = edge?.isOn ?? false
        var changed = edge ?? Edge()
        body(&changed)
        guard changed != edge else { return }
        edge = changed
        key.setItem(name, changed.encoded)
        guard changed.isOn != wasOn else { return }
        if changed.isOn {
            key.setItem(Edge.listed(other), Array(other.utf8))
        } else {
            key.removeItem(Edge.listed(other))
        }
        key.state.change(by: changed.isOn ? 1 : -1)
    }

    /// Adds the row of the key, unless the key has no existing edges.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.count > 0 else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// The known facts about an edge.
    struct Edge: Equatable {
        /// The last toggle by the user of this store.
        var own: OwnToggle?
        /// The order of the last observation, and whether it showed the edge.
        var shownOrder: FoldOrder?
        var isShown = false

        init() {}

        var isOn: Bool {
            guard let own else { return isShown }
            if own.isWanted { return own.isOn }
            // A confirmed toggle applies unless the edge has been observed after the confirmation.
            if let outcome = own.outcome, outcome.kind == .confirmed {
                let seen = shownOrder?.observedVersion ?? 0
                return seen > outcome.order.activityMilliseconds ? isShown : own.isOn
            }
            return isShown
        }

        static let listedPrefix: [UInt8] = [UInt8(ascii: "f")]

        static let prefix: [UInt8] = [UInt8(ascii: "e")]

        static func name(_ other: String) -> RowKey { RowKey(prefix + other.utf8) }
        static func intent(_ id: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "i")] + id) }
        static func listed(_ other: String) -> RowKey {
            RowKey(listedPrefix + NaturalID.ordered(Array(other.utf8)))
        }

        init(decoding bytes: [UInt8]) throws(ModelError) {
            (own, shownOrder, isShown) = try StateReader.read(bytes) {
                (reader) throws(ModelError) in
                let own = try reader.optional { (reader) throws(ModelError) in
                    try OwnToggle(decoding: &reader)
                }
                let order = try reader.optional { (reader) throws(ModelError) in
                    try reader.foldOrder()
                }
                return (own, order, try reader.bool())
            }
        }

        var encoded: [UInt8] {
            var writer = StateWriter()
            writer.add(own) { $1.encode(into: &$0) }
            writer.add(shownOrder) { $0.add($1) }
            writer.add(isShown)
            return writer.bytes
        }
    }
}
