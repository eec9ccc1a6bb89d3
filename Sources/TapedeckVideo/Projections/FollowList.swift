public import TapedeckModel
public import TapedeckProjections

/// Who follows whom: of each user those who follow, or those who are followed.
///
/// An edge is as the user of this store wants it to be, until a remote has confirmed that or the user has given
/// it up; then, and wherever the user wants nothing, it is as the remote showed it last.
///
/// Items: `e` user → the edge with that user: `Edge`; `f` user → user: an edge that is listed, by the user's
/// number; `i` event-id → the user whose edge a toggle is of. Outcomes as `OutcomeItems` says.
public struct FollowList: Projection {
    /// Which end of the edges the keys are.
    public enum Direction: Sendable {
        /// The keys are followed; listed is who follows them.
        case followers
        /// The keys follow; listed is whom they follow.
        case following
    }

    /// Which end of the edges the keys are.
    public let direction: Direction

    /// Makes the projection.
    public init(_ direction: Direction) { self.direction = direction }

    /// `followers` or `following`.
    public var name: String { direction == .followers ? "followers" : "following" }
    /// 1.
    public var version: Int { 1 }
    /// `user`, the one who is followed; or `follower`.
    public var tagKind: String { direction == .followers ? "user" : "follower" }
    /// What the user wants, what remotes show, and what became of it.
    public var eventTypes: [EventType] {
        [FollowToggled.eventType, FollowObserved.eventType, IntentOutcome.eventType]
    }
    /// Any: of toggles, sightings and outcomes of an edge the last of each counts.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        Each edge is as the user of this store wants it until a remote has confirmed it \
        or the user has given it up; otherwise as the remote showed it last.
        """
    }
    /// One: how many edges are listed, by the key, so that who shows them hears of a change.
    public var tables: [String] { ["counts"] }
    /// Edges, and which of them are listed.
    public var followedItems: [[UInt8]] { [Edge.prefix, Edge.listedPrefix] }

    /// How many edges of a key are listed.
    public struct State: ProjectionState, Equatable {
        /// How many there are.
        public private(set) var count: UInt64 = 0

        /// None.
        public init() {}

        fileprivate mutating func change(by difference: Int) {
            count = count &+ UInt64(bitPattern: Int64(difference))
        }

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { count = try bytes.uint64() }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) { bytes.add(count) }
    }

    /// Folds a toggle, a sighting or an outcome.
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

    /// The user at the other end of an edge, and whether there is one, of a toggle or a sighting.
    private func read(_ payload: RawSpan) throws(ModelError) -> (other: String, isOn: Bool) {
        // Numbers as in schema/tapedeck/video/v1/answers.proto.
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

    /// A row for a key with edges.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.count > 0 else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(table: 0, key: RowKey().text(key.name), value: value.bytes)
    }

    /// What is known of one user's following another.
    struct Edge: Equatable {
        /// What the user of this store wants.
        var own: OwnToggle?
        /// The last sighting, and whether it showed the edge.
        var shownOrder: FoldOrder?
        var isShown = false

        init() {}

        var isOn: Bool {
            guard let own else { return isShown }
            if own.isWanted { return own.isOn }
            // Confirmed, and not seen since: it is as it was wanted.
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
