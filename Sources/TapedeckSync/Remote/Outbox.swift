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
/// latest of a type is wanted. Where each user has a register of their own, only the latest of each.
public struct Outbox: Projection {
    /// The kind of tags under whose keys the intents lie.
    public let tagKind: String
    private let intents: [EventType]
    /// Of each of `eventTypes`.
    private let isRegister: [Bool]
    /// Of each of `eventTypes`, the number of the field that says whose register it is.
    private let owners: [Int?]

    /// Makes the projection.
    ///
    /// - Parameters:
    ///   - tagKind: the kind of tags under whose keys the intents lie; outcomes carry the same.
    ///   - inserts: types of which every event is an intent of its own.
    ///   - registers: types of which the latest event of a key counts.
    ///   - owners: of registers that each user has under the same key, the number of the payload's field that
    ///     says whose an event is.
    public init(
        of tagKind: String, inserts: [EventType], registers: [EventType],
        owners: [EventType: Int] = [:]
    ) {
        self.tagKind = tagKind
        intents = (inserts + registers).sorted { $0.name < $1.name }
        isRegister = [false, false] + intents.map { registers.contains($0) }
        self.owners = [nil, nil] + intents.map { owners[$0] }
    }

    /// Whether events of a type are intents of this outbox.
    package func isIntent(_ type: EventType) -> Bool { intents.contains(type) }

    /// `outbox-` and the kind.
    public var name: String { "outbox-\(tagKind)" }
    /// 3.
    public var version: Int { 3 }
    /// The types of intents.
    public var parameters: String {
        eventTypes.indices.dropFirst(2).map { index in
            let owner = owners[index].map { "\($0)" } ?? ""
            return eventTypes[index].name + (isRegister[index] ? "=" : "+") + owner
        }.joined(separator: " ")
    }
    /// Outcomes, claims and intents.
    public var eventTypes: [EventType] {
        [OutcomeRecorded.eventType, IntentClaimed.eventType] + intents
    }
    /// Any: intents do not meet each other, and an outcome or a claim remembers its place.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        What the user wants of a remote waits until an outcome confirms it or the user drops it; of what \
        sets the same thing, such as a mark, only the latest is wanted.
        """
    }
    /// One: the items, the oldest first.
    public var tables: [String] { ["oldest-first"] }
    /// Yes: one an item.
    public var itemsYieldRows: Bool { true }

    /// What a key remembers besides its items.
    public struct State: ProjectionState, Equatable {
        /// The latest intent of each register, also behind its end: earlier ones are not wanted again.
        var held: [Held] = []
        /// The last intent that is of no register.
        var lastInsert: FoldOrder?
        /// The intent that follows from a rule and is not settled.
        var derived: EventID?
        /// The intent that followed from a rule and was settled last; it is not derived again.
        var settled: EventID?
        /// The remote's ids that the latest confirmations named.
        var taken: [String] = []
        /// The last outcome or claim: what has its place before it comes late.
        var last = FoldOrder.start

        struct Held: Equatable {
            var typeIndex: Int
            /// Whose register it is; empty where there is one for all.
            var owner: String
            var intent: EventID
            var order: FoldOrder

            var register: (typeIndex: Int, owner: String) { (typeIndex, owner) }
        }

        /// Whether all intents that were folded have their place before `order`.
        func isBehindIntents(_ order: FoldOrder) -> Bool {
            lastInsert.map { $0 < order } ?? true && held.allSatisfy { $0.order < order }
        }

        /// Nothing is wanted.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            held = try bytes.array { (reader) throws(ModelError) in
                Held(
                    typeIndex: Int(truncatingIfNeeded: try reader.uint64()),
                    owner: try reader.string(), intent: try reader.eventID(),
                    order: try reader.foldOrder())
            }
            lastInsert = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            guard try bytes.bool() else { return }
            derived = try bytes.optionalEventID()
            settled = try bytes.optionalEventID()
            taken = try bytes.array { (reader) throws(ModelError) in try reader.string() }
            last = try bytes.foldOrder()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(held) { writer, held in
                writer.add(UInt64(held.typeIndex))
                writer.add(held.owner)
                writer.add(held.intent)
                writer.add(held.order)
            }
            bytes.add(lastInsert) { $0.add($1) }
            // Of most keys nobody has said anything.
            bytes.add(last != .start)
            guard last != .start else { return }
            bytes.add(derived)
            bytes.add(settled)
            bytes.add(taken) { $0.add($1) }
            bytes.add(last)
        }
    }

    /// How many of the remote's ids a key remembers.
    static let takenCountMax = 64

    // MARK: - Fold

    /// Folds an intent, an outcome or a claim.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let order = event.order
        guard order > key.state.last else {
            if order < key.state.last { key.requestRefold() }
            return
        }
        switch event.typeIndex {
        case 0:
            key.state.last = order
            try foldOutcome(event.decode(OutcomeRecorded.self), event, &key)
        case 1:
            key.state.last = order
            let claim = try event.decode(IntentClaimed.self)
            guard let (held, place) = try item(of: claim.intent, claim.isDerived, event, &key)
            else { return }
            var item = held
            item.claims.append(event.id)
            key.set(item, place)
        default:
            var item = OutboxItem(event.id, at: event.stamp.milliseconds)
            let early = item.name(.early)
            if let told = key.state.last == .start ? nil : key.item(early) {
                key.removeItem(early)
                let told = try OutboxItem(event.id, decoding: told)
                (item.parts, item.claims, item.retries) = (told.parts, told.claims, told.retries)
            }
            if isRegister[event.typeIndex] {
                guard hold(item, in: register(of: event), order, &key) else { return }
            } else {
                key.state.lastInsert = max(order, key.state.lastInsert ?? order)
            }
            if !item.isOver { key.set(item, .wanted) }
        }
    }

    /// The register of an intent: its type, and whose it is where each user has one.
    private func register(of event: borrowing FoldEvent) -> (typeIndex: Int, owner: String) {
        var owner = ""
        if let number = owners[event.typeIndex] {
            var fields = WireFields(event.payload)
            while let field = fields.next() {
                if field.number == number { owner = fields.string(field) }
            }
        }
        return (event.typeIndex, owner)
    }

    /// Puts an intent in the place of its register's former one; false where a later one is there.
    private func hold(
        _ item: OutboxItem, in register: (typeIndex: Int, owner: String), _ order: FoldOrder,
        _ key: inout KeyedState<State>
    ) -> Bool {
        let held = State.Held(
            typeIndex: register.typeIndex, owner: register.owner, intent: item.event, order: order)
        for index in key.state.held.indices where key.state.held[index].register == register {
            let former = key.state.held[index]
            guard former.order < order else { return false }
            key.removeItem(OutboxItem.name(of: former.intent, .wanted))
            key.state.held[index] = held
            return true
        }
        let place = key.state.held.firstIndex { $0.register > register }
        key.state.held.insert(held, at: place ?? key.state.held.endIndex)
        return true
    }

    /// The item of an intent, and where it has its place.
    ///
    /// One that follows from a rule is made, unless it was settled. Another one that is not there has
    /// ended, or comes behind what is said of it: stamps are what clocks tell, and until all receipts are
    /// here a confirmation can have its place before what it confirms. Nothing may be done twice for that.
    private func item(
        of intent: String, _ isDerived: Bool, _ event: borrowing FoldEvent,
        _ key: inout KeyedState<State>
    ) throws -> (OutboxItem, OutboxItem.Place)? {
        guard let id = EventID(intent) else {
            throw ModelError(.invalidPayload, "an outcome does not say of which intent")
        }
        for place in isDerived ? [.derived] : [.wanted, .early] as [OutboxItem.Place] {
            if let value = key.item(OutboxItem.name(of: id, place)) {
                return (try OutboxItem(id, isDerived: isDerived, decoding: value), place)
            }
        }
        let item = OutboxItem(id, at: event.stamp.milliseconds, isDerived: isDerived)
        guard isDerived else {
            // Where intents behind it were folded, this one may have been, too.
            if key.state.isBehindIntents(event.order) { return (item, .early) }
            key.requestRefold()
            return nil
        }
        guard key.state.settled != id else { return nil }
        // What follows from a rule replaces what followed from it before.
        if let former = key.state.derived {
            key.removeItem(OutboxItem.name(of: former, .derived))
        }
        key.state.derived = id
        return (item, .derived)
    }

    private func foldOutcome(
        _ outcome: OutcomeRecorded, _ event: borrowing FoldEvent, _ key: inout KeyedState<State>
    ) throws {
        guard let (held, place) = try item(of: outcome.intent, outcome.isDerived, event, &key)
        else { return }
        var item = held
        if outcome.kind == .confirmed, !outcome.remoteID.isEmpty {
            key.state.taken = (key.state.taken + [outcome.remoteID]).suffix(Outbox.takenCountMax)
        }
        let part = OutboxItem.Part(outcome, by: event.id.origin, at: event.stamp.milliseconds)
        switch outcome.kind {
        case .retried:
            item.parts.removeAll(where: \.isEnd)
            item.retries += 1
        case .dropped: item.parts = [part]
        default: item.set(part)
        }
        guard item.isOver, place != .early else { return key.set(item, place) }
        if place == .derived {
            key.state.settled = item.event
            key.state.derived = nil
        }
        key.removeItem(item.name(place))
    }

    /// One row for what is wanted.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let (item, place) = try OutboxItem.read(named: item.key, item.value)
        guard place != .early else { return }
        var value = StateWriter()
        value.add(key.text)
        value.add(item.event)
        value.add(item.isDerived)
        item.encode(into: &value)
        rows.add(
            table: 0,
            key: RowKey().ascending(item.milliseconds).raw(item.name(place).bytes).text(key.name),
            value: value.bytes)
    }

    // MARK: - Reading

    /// What is known of an intent, and how its key stands.
    package struct Standing: Sendable {
        /// Its item.
        package var item: OutboxItem
        /// Whether the item stands in the outbox; one that follows from a rule need not.
        package var isListed: Bool
        /// The remote's ids that the key's latest confirmations named.
        package var taken: Set<String>
    }

    /// What is known of an intent; nil where it was confirmed or dropped.
    package func standing(of intent: Intent, _ views: some ViewReader) throws -> Standing? {
        let state = try views.state(of: self, key: intent.key) ?? State()
        let id = intent.event.id
        let name = OutboxItem.name(of: id, intent.isDerived ? .derived : .wanted)
        if let value = try views.item(of: self, key: intent.key, name: name) {
            return Standing(
                item: try OutboxItem(id, isDerived: intent.isDerived, decoding: value),
                isListed: true, taken: Set(state.taken))
        }
        guard intent.isDerived, state.settled != id else { return nil }
        return Standing(
            item: OutboxItem(id, at: intent.event.stamp.milliseconds, isDerived: true),
            isListed: false, taken: Set(state.taken))
    }
}

extension KeyedState<Outbox.State> {
    fileprivate mutating func set(_ item: OutboxItem, _ place: OutboxItem.Place) {
        var value = StateWriter()
        item.encode(into: &value)
        setItem(item.name(place), value.bytes)
    }
}

/// What is not done yet.
public struct OutboxItem: Hashable, Sendable {
    /// The event that is the intent, or from which it follows.
    public var event: EventID
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

    init(_ event: EventID, at milliseconds: UInt64, isDerived: Bool = false) {
        self.event = event
        self.milliseconds = milliseconds
        self.isDerived = isDerived
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

    /// Whether nothing is wanted any more: the whole was confirmed, or the user has dropped it.
    var isOver: Bool {
        parts.contains { $0.kind == .dropped || $0.target.isEmpty && $0.kind == .confirmed }
    }

    mutating func set(_ part: Part) {
        // A confirmation is final, whatever another device says behind it.
        if let held = self.part(part.target), held.kind == .confirmed { return }
        parts.removeAll { $0.target == part.target }
        parts.append(part)
        parts.sort { $0.target.utf8.lexicographicallyPrecedes($1.target.utf8) }
    }

    // MARK: - Bytes

    /// Where an item has its place among those of its key.
    enum Place: UInt8 {
        /// An event wants it.
        case wanted = 0
        /// It follows from a rule.
        case derived
        /// Nobody wants it yet, but something was said of it.
        case early
    }

    /// An item's name among those of its key: place (1 byte), origin and sequence.
    static func name(of event: EventID, _ place: Place) -> RowKey {
        RowKey([place.rawValue]).ascending(event.origin.high).ascending(event.origin.low)
            .ascending(event.sequence)
    }

    func name(_ place: Place) -> RowKey { OutboxItem.name(of: event, place) }

    /// Reads an item that lies under its name.
    static func read(
        named name: [UInt8], _ value: [UInt8]
    ) throws(ModelError) -> (OutboxItem, Place) {
        guard name.count == 25, let place = Place(rawValue: name[0]) else {
            throw ModelError(.damaged, "an item of the outbox has no name")
        }
        func word(_ start: Int) -> UInt64 {
            name[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let event = EventID(origin: OriginID(high: word(1), low: word(9)), sequence: word(17))
        return (
            try OutboxItem(event, isDerived: place == .derived, decoding: value), place
        )
    }

    init(
        _ event: EventID, isDerived: Bool = false, decoding value: [UInt8]
    ) throws(ModelError) {
        self = try StateReader.read(value) { (reader) throws(ModelError) in
            try OutboxItem(event, isDerived: isDerived, reading: &reader)
        }
    }

    init(
        _ event: EventID, isDerived: Bool, reading reader: inout StateReader
    ) throws(ModelError) {
        self.init(event, at: try reader.uint64(), isDerived: isDerived)
        parts = try reader.array { (reader) throws(ModelError) in try Part(decoding: &reader) }
        claims = try reader.array { (reader) throws(ModelError) in try reader.eventID() }
        retries = try reader.uint64()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(milliseconds)
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
                let key = try Tag(try reader.string())
                let event = try reader.eventID()
                let isDerived = try reader.bool()
                return OutboxRow(
                    key: key,
                    item: try OutboxItem(event, isDerived: isDerived, reading: &reader),
                    row: row.key)
            }
        }
    }
}

extension ProjectionRunner {
    /// What is known of an intent; nil where it was confirmed or dropped, or is of no such outbox.
    @available(*, noasync)
    package func standing(of intent: Intent, in outboxes: [Outbox]) throws -> Outbox.Standing? {
        guard let outbox = outboxes.first(where: { $0.tagKind == intent.key.kind }) else {
            return nil
        }
        return try read([outbox.name]) { try outbox.standing(of: intent, $0) }
    }
}
