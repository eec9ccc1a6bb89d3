public import TapedeckModel
public import TapedeckProjections

/// What the user wants of remotes and what is not done yet, with the reason: intents without a final
/// outcome.
///
/// There is no other queue. Every device folds the same outbox; who delivers an item is decided when it
/// is delivered (`RemoteSession`). An item ends by a confirmation or by being dropped; one that was
/// refused, or of which nobody knows, stays in sight.
///
/// Intents of one register, such as a mark that is set and taken away, replace each other: only the
/// latest of a type is wanted.
public struct Outbox: Projection {
    /// The kind of tags under whose keys the intents lie.
    public let tagKind: String
    private let intents: [EventType]
    private let registers: Set<EventType>

    /// Makes the projection.
    ///
    /// - Parameters:
    ///   - tagKind: the kind of tags under whose keys the intents lie; outcomes carry the same.
    ///   - inserts: types of which every event is an intent of its own.
    ///   - registers: types of which the latest event of a key counts.
    public init(of tagKind: String, inserts: [EventType], registers: [EventType]) {
        self.tagKind = tagKind
        intents = (inserts + registers).sorted { $0.name < $1.name }
        self.registers = Set(registers)
    }

    /// `outbox-` and the kind.
    public var name: String { "outbox-\(tagKind)" }
    /// 1.
    public var version: Int { 1 }
    /// The types of intents.
    public var parameters: String {
        intents.map { $0.name + (registers.contains($0) ? "=" : "+") }.joined(separator: " ")
    }
    /// Outcomes, claims and intents.
    public var eventTypes: [EventType] {
        [OutcomeRecorded.eventType, IntentClaimed.eventType] + intents
    }
    /// One: the items, the oldest first.
    public var tables: [String] { ["oldest-first"] }

    /// The items of one key.
    public struct State: ProjectionState, Equatable {
        var items: [OutboxItem] = []
        /// The intent that followed from a rule and was settled last; it is not derived again.
        var settled: EventID?
        /// The remote's ids that the latest confirmations named.
        var taken: [String] = []

        /// Nothing is wanted.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            items = try bytes.array { (reader) throws(ModelError) in
                try OutboxItem(decoding: &reader)
            }
            settled = try bytes.optionalEventID()
            taken = try bytes.array { (reader) throws(ModelError) in try reader.string() }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(items) { $1.encode(into: &$0) }
            bytes.add(settled)
            bytes.add(taken) { $0.add($1) }
        }
    }

    /// How many of the remote's ids a key remembers.
    static let takenCountMax = 64

    /// Folds an intent, an outcome or a claim.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            try foldOutcome(
                event.decode(OutcomeRecorded.self), by: event.id.origin,
                at: event.stamp.milliseconds, &key.state)
        case 1:
            let claim = try event.decode(IntentClaimed.self)
            let index = try place(of: claim.intent, isDerived: claim.isDerived, event, &key.state)
            if let index { key.state.items[index].claims.append(event.id) }
        default:
            let type = eventTypes[event.typeIndex]
            if registers.contains(type) {
                key.state.items.removeAll { $0.type == type.name && !$0.isDerived }
            }
            key.state.items.append(
                OutboxItem(event.id, type: type.name, at: event.stamp.milliseconds))
        }
    }

    /// Where the item of an intent stands; one that follows from a rule is made, others may have ended.
    private func place(
        of intent: String, isDerived: Bool, _ event: borrowing FoldEvent, _ state: inout State
    ) throws -> Int? {
        guard let id = EventID(intent) else {
            throw ModelError(.invalidPayload, "an outcome does not say of which intent")
        }
        return place(of: id, isDerived: isDerived, at: event.stamp.milliseconds, &state)
    }

    private func place(
        of id: EventID, isDerived: Bool, at milliseconds: UInt64, _ state: inout State
    ) -> Int? {
        if let index = state.items.firstIndex(where: { $0.event == id && $0.isDerived == isDerived }
        ) {
            return index
        }
        guard isDerived, state.settled != id else { return nil }
        // What follows from a rule replaces what followed from it before.
        state.items.removeAll(where: \.isDerived)
        var item = OutboxItem(id, type: "", at: milliseconds)
        item.isDerived = true
        state.items.append(item)
        return state.items.count - 1
    }

    private func foldOutcome(
        _ outcome: OutcomeRecorded, by origin: OriginID, at milliseconds: UInt64,
        _ state: inout State
    ) throws {
        guard let id = EventID(outcome.intent) else {
            throw ModelError(.invalidPayload, "an outcome does not say of which intent")
        }
        guard
            let index = place(
                of: id, isDerived: outcome.isDerived, at: milliseconds, &state)
        else { return }
        if outcome.kind == .confirmed, !outcome.remoteID.isEmpty {
            state.taken = (state.taken + [outcome.remoteID]).suffix(Outbox.takenCountMax)
        }
        let isWhole = outcome.target.isEmpty
        if outcome.kind == .dropped || isWhole && outcome.kind == .confirmed {
            if outcome.isDerived { state.settled = id }
            state.items.remove(at: index)
        } else if outcome.kind == .retried {
            state.items[index].parts.removeAll {
                $0.kind == .refused || $0.kind == .unknown
            }
            state.items[index].retries += 1
        } else {
            state.items[index].set(
                OutboxItem.Part(outcome, by: origin, at: milliseconds))
        }
    }

    /// One row for an item.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for item in state.items {
            var value = StateWriter()
            value.add(key.text)
            item.encode(into: &value)
            rows.add(
                table: 0,
                key: RowKey().ascending(Int64(item.milliseconds)).text(item.event.description)
                    .text(key.name), value: value.bytes)
        }
    }
}

/// What is not done yet.
public struct OutboxItem: Hashable, Sendable {
    /// The event that is the intent, or from which it follows.
    public var event: EventID
    /// The event's type; empty for an intent that follows from a rule.
    public var type: String
    /// When it was wanted, in Unix milliseconds.
    public var milliseconds: UInt64
    /// Whether it follows from a rule and is no event of its own.
    public var isDerived = false
    /// What became of its parts so far.
    public var parts: [Part] = []
    /// Who wants to deliver it in the place of its origin, in the order in which they said so.
    public var claims: [EventID] = []
    /// How often the user has asked for it again.
    public var retries: UInt64 = 0

    init(_ event: EventID, type: String, at milliseconds: UInt64) {
        self.event = event
        self.type = type
        self.milliseconds = milliseconds
    }

    /// The latest outcome of one part of an intent; the part without a name is the whole.
    public struct Part: Hashable, Sendable {
        /// Which part.
        public var target: String
        /// What happened.
        public var kind: OutcomeRecorded.Kind
        /// Which device says so.
        public var origin: OriginID
        /// When, in Unix milliseconds.
        public var milliseconds: UInt64
        /// Why.
        public var code: String
        /// The same for people.
        public var message: String
        var baseline: String

        init(_ outcome: OutcomeRecorded, by origin: OriginID, at milliseconds: UInt64) {
            target = outcome.target
            kind = outcome.kind
            self.origin = origin
            self.milliseconds = milliseconds
            code = outcome.code
            message = outcome.message
            baseline = outcome.baseline
        }

        init(decoding reader: inout StateReader) throws(ModelError) {
            target = try reader.string()
            kind = OutcomeRecorded.Kind(rawValue: Int(try reader.uint64())) ?? .unspecified
            origin = OriginID(high: try reader.uint64(), low: try reader.uint64())
            milliseconds = try reader.uint64()
            code = try reader.string()
            message = try reader.string()
            baseline = try reader.string()
        }

        func encode(into writer: inout StateWriter) {
            writer.add(target)
            writer.add(UInt64(kind.rawValue))
            writer.add(origin.high)
            writer.add(origin.low)
            writer.add(milliseconds)
            writer.add(code)
            writer.add(message)
            writer.add(baseline)
        }
    }

    /// The latest outcome of a part.
    public func part(_ target: String) -> Part? { parts.first { $0.target == target } }

    /// The outcome with which it ended, short of success: refused, or unknown.
    public var end: Part? { parts.first { $0.target.isEmpty && $0.isEnd } }

    mutating func set(_ part: Part) {
        // A confirmation is final, whatever another device says behind it.
        if let held = self.part(part.target), held.kind == .confirmed { return }
        parts.removeAll { $0.target == part.target }
        parts.append(part)
        parts.sort { $0.target.utf8.lexicographicallyPrecedes($1.target.utf8) }
    }

    init(decoding reader: inout StateReader) throws(ModelError) {
        guard let event = try reader.optionalEventID() else {
            throw ModelError(.damaged, "an item of the outbox names no event")
        }
        self.event = event
        type = try reader.string()
        milliseconds = try reader.uint64()
        isDerived = try reader.bool()
        parts = try reader.array { (reader) throws(ModelError) in try Part(decoding: &reader) }
        claims = try reader.array { (reader) throws(ModelError) in
            guard let claim = try reader.optionalEventID() else {
                throw ModelError(.damaged, "an item of the outbox names no claim")
            }
            return claim
        }
        retries = try reader.uint64()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(type)
        writer.add(milliseconds)
        writer.add(isDerived)
        writer.add(parts) { $1.encode(into: &$0) }
        writer.add(claims) { $0.add($1) }
        writer.add(retries)
    }
}

extension OutboxItem.Part {
    /// Whether nothing is done any more unless the user wants it.
    public var isEnd: Bool { kind == .refused || kind == .unknown }
}

/// An item and the key under which it lies.
public struct OutboxRow: Hashable, Sendable {
    /// The key.
    public var key: Tag
    /// The item.
    public var item: OutboxItem
    /// The row's own key, to read on behind it.
    public var row: [UInt8]

    /// Items of an outbox, the oldest first.
    public static func page(
        of outbox: Outbox, _ views: some ViewReader, after: [UInt8]?, limit: Int
    ) throws -> [OutboxRow] {
        try views.rows(
            of: outbox, table: 0, lower: nil, upper: nil, after: after, limit: limit
        ).map { row in
            try StateReader.read(row.value) { (reader) throws(ModelError) in
                OutboxRow(
                    key: try Tag(try reader.string()), item: try OutboxItem(decoding: &reader),
                    row: row.key)
            }
        }
    }
}
