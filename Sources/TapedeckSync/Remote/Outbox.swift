public import TapedeckModel
public import TapedeckProjections

/// The pending intents: changes that the user wants remotes to make and that have no final outcome
/// yet.
///
/// The outbox is the only queue of intents. Every device folds the same outbox; `RemoteSession`
/// decides which device delivers an intent. An intent leaves the outbox when it is confirmed or
/// dropped. An intent that was refused, or whose outcome is unknown, stays in the outbox.
///
/// A *register* is a value that each intent overwrites, such as a mark that the user sets and
/// removes. Only the latest intent for a register is pending. If each user has a separate register,
/// an intent replaces only intents of the same user.
///
/// An intent does not replace the intents of another account's devices, because it is never sent
/// from the account of these devices; see `SignIns`. The fold does not know the accounts, so it
/// keeps the latest intent of each device, and a reader decides whether a later intent replaces it.
///
/// A device that has not synced may send an outdated intent for a register after the latest intent
/// was confirmed. The remote then returns to the outdated value. As soon as both outcomes are
/// known, the latest intent is pending again.
public struct Outbox: Projection {
    /// The tag kind of the keys that intents belong to.
    public let tagKind: String
    private let intents: [EventType]
    /// For each of `eventTypes`, whether its events are intents for a register.
    private let isRegister: [Bool]
    /// For each of `eventTypes`, the number of the payload field that contains the register's
    /// owner.
    private let owners: [Int?]
    /// The lifetimes, in milliseconds, of the intents that expire.
    private let lifetimes: [EventType: UInt64]

    /// Creates the projection.
    ///
    /// - Parameters:
    ///   - tagKind: The tag kind of the keys that intents belong to; outcomes have the same tags.
    ///   - inserts: The event types for which every event is a separate intent.
    ///   - registers: The event types for which the latest event of a key replaces the earlier
    ///     events.
    ///   - owners: For registers that are separate for each user, the number of the payload field
    ///     that contains the user.
    ///   - lifetimes: For intents that expire, the time within which they must be sent.
    public init(
        of tagKind: String, inserts: [EventType], registers: [EventType],
        owners: [EventType: Int] = [:], lifetimes: [EventType: Duration] = [:]
    ) {
        self.tagKind = tagKind
        intents = (inserts + registers).sorted { $0.name < $1.name }
        isRegister = [false, false] + intents.map { registers.contains($0) }
        self.owners = [nil, nil] + intents.map { owners[$0] }
        self.lifetimes = lifetimes.mapValues { UInt64(max(0, $0 / .milliseconds(1))) }
    }

    /// Returns whether events of a type are intents of this outbox.
    package func isIntent(_ type: EventType) -> Bool { intents.contains(type) }

    /// Returns whether events of a type are intents for a register that all users share.
    func replaces(_ type: EventType) -> Bool {
        eventTypes.indices.contains {
            eventTypes[$0] == type && isRegister[$0] && owners[$0] == nil
        }
    }

    /// Returns whether an intent is too old to be delivered at `now`, a time in milliseconds since
    /// 1970.
    ///
    /// An intent that may have reached the remote does not expire, nor does one that the user
    /// retries.
    package func isExpired(_ item: OutboxItem, of type: EventType, at now: UInt64) -> Bool {
        guard let lifetime = lifetimes[type], item.retries == 0,
            item.parts.allSatisfy({ $0.kind == .unsent })
        else { return false }
        return now > item.milliseconds && now - item.milliseconds > lifetime
    }

    /// The name of the projection: `outbox-` followed by the tag kind.
    public var name: String { "outbox-\(tagKind)" }
    /// 5.
    public var version: Int { 5 }
    /// The event types of the intents.
    public var parameters: String {
        eventTypes.indices.dropFirst(2).map { index in
            let owner = owners[index].map { "\($0)" } ?? ""
            return eventTypes[index].name + (isRegister[index] ? "=" : "+") + owner
        }.joined(separator: " ")
    }
    /// The event types of outcomes, claims and intents.
    public var eventTypes: [EventType] {
        [OutcomeRecorded.eventType, IntentClaimed.eventType] + intents
    }
    /// Events can be folded in any order, because intents are independent of each other and the
    /// state contains the position of the last outcome or claim.
    public var law: FoldLaw { .any }
    /// A short explanation of how the contents of the outbox are determined.
    public var ruleText: String? {
        """
        A change that the user wants a remote to make is pending until an outcome confirms it or \
        the user drops it. If an account has several changes to the same thing, such as a mark, \
        only the latest change is pending. If an earlier change is sent after the latest change \
        was confirmed, the latest change is pending again.
        """
    }
    /// Two tables, which contain the items, oldest first: the items that no later intent for the
    /// same register can replace, and the others.
    public var tables: [String] { ["oldest-first", "superseded"] }

    enum Table {
        static let oldestFirst = 0
        static let superseded = 1
    }

    /// Always true, because each item yields a row.
    public var itemsYieldRows: Bool { true }

    /// The state of a key, apart from its items.
    public struct State: ProjectionState, Equatable {
        /// The latest intent of each device for each register, kept after it has ended so that it
        /// continues to replace earlier intents.
        var held: [Held] = []
        /// The position of the last intent that belongs to no register.
        var lastInsert: FoldOrder?
        /// The pending intent that is derived by a rule instead of being an event.
        var derived: EventID?
        /// The last derived intent that has ended; it is not derived again.
        var settled: EventID?
        /// The remote ids of the latest confirmations.
        var taken: [String] = []
        /// The position of the last outcome or claim; an event folded later with an earlier
        /// position arrived late.
        var last = FoldOrder.start

        struct Held: Equatable {
            var typeIndex: Int
            /// The owner of the register; empty if all users share it.
            var owner: String
            var intent: EventID
            var order: FoldOrder
            /// Whether the user dropped the intent.
            var isDropped = false

            var register: (typeIndex: Int, owner: String) { (typeIndex, owner) }
        }

        /// Returns the later intents for the register of an intent.
        func intents(replacing intent: EventID) -> [EventID] {
            guard let own = held.first(where: { $0.intent == intent }) else { return [] }
            return held.filter { $0.register == own.register && own.order < $0.order }.map(\.intent)
        }

        /// Returns whether `order` comes after all folded intents.
        func isBehindIntents(_ order: FoldOrder) -> Bool {
            lastInsert.map { $0 < order } ?? true && held.allSatisfy { $0.order < order }
        }

        /// Creates a state without intents.
        public init() {}

        /// Reads the bytes of a state.
        public init(decoding bytes: inout StateReader) throws {
            held = try bytes.array { (reader) throws(ModelError) in
                Held(
                    typeIndex: Int(truncatingIfNeeded: try reader.uint64()),
                    owner: try reader.string(), intent: try reader.eventID(),
                    order: try reader.foldOrder(), isDropped: try reader.bool())
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

        /// Writes the bytes of the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(held) { writer, held in
                writer.add(UInt64(held.typeIndex))
                writer.add(held.owner)
                writer.add(held.intent)
                writer.add(held.order)
                writer.add(held.isDropped)
            }
            bytes.add(lastInsert) { $0.add($1) }
            // Most keys have no outcomes or claims; omit the remaining fields for these keys.
            bytes.add(last != .start)
            guard last != .start else { return }
            bytes.add(derived)
            bytes.add(settled)
            bytes.add(taken) { $0.add($1) }
            bytes.add(last)
        }
    }

    /// The maximum number of remote ids stored per key.
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
                guard try hold(&item, in: register(of: event), order, &key) else { return }
            } else {
                key.state.lastInsert = max(order, key.state.lastInsert ?? order)
            }
            if !item.isOver { key.set(item, .wanted) }
        }
    }

    /// Returns the register of an intent: its type, and its owner if each user has a separate
    /// register.
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

    /// Replaces the previous intent of the device for a register; returns false if the device has a
    /// later intent for the register.
    ///
    /// Marks the earlier intents of other devices as superseded.
    private func hold(
        _ item: inout OutboxItem, in register: (typeIndex: Int, owner: String), _ order: FoldOrder,
        _ key: inout KeyedState<State>
    ) throws -> Bool {
        let device = item.event.origin
        let held = State.Held(
            typeIndex: register.typeIndex, owner: register.owner, intent: item.event, order: order,
            isDropped: item.isDropped)
        if let own = key.state.held.firstIndex(where: {
            $0.register == register && $0.intent.origin == device
        }) {
            let former = key.state.held[own]
            guard former.order < order else { return false }
            key.removeItem(OutboxItem.name(of: former.intent, .wanted))
            key.state.held[own] = held
        } else {
            let place = key.state.held.firstIndex {
                $0.register > register || $0.register == register && $0.intent.origin > device
            }
            key.state.held.insert(held, at: place ?? key.state.held.endIndex)
        }
        for other in key.state.held where other.register == register {
            if order < other.order { item.isSuperseded = true }
            guard other.order < order else { continue }
            let name = OutboxItem.name(of: other.intent, .wanted)
            guard let value = key.item(name) else { continue }
            var earlier = try OutboxItem(other.intent, decoding: value)
            guard !earlier.isSuperseded else { continue }
            earlier.isSuperseded = true
            key.set(earlier, .wanted)
        }
        return true
    }

    /// Returns the item of an intent, and the kind under which the item is stored.
    ///
    /// A missing derived item is created unless it has already ended. If any other item is missing,
    /// either it has ended, or its outcome was folded before its intent. Stamps depend on device
    /// clocks, so an outcome can precede its intent until all receipts have arrived. A confirmation
    /// that precedes its intent must not lead to a second delivery.
    private func item(
        of intent: String, _ isDerived: Bool, _ event: borrowing FoldEvent,
        _ key: inout KeyedState<State>
    ) throws -> (OutboxItem, OutboxItem.Place)? {
        guard let id = EventID(intent) else {
            throw ModelError(.invalidPayload, "the id of the intent is invalid")
        }
        for place in isDerived ? [.derived] : [.wanted, .early] as [OutboxItem.Place] {
            if let value = key.item(OutboxItem.name(of: id, place)) {
                return (try OutboxItem(id, isDerived: isDerived, decoding: value), place)
            }
        }
        let item = OutboxItem(id, at: event.stamp.milliseconds, isDerived: isDerived)
        guard isDerived else {
            // If later intents have already been folded, this intent may already have been folded,
            // too.
            if key.state.isBehindIntents(event.order) { return (item, .early) }
            key.requestRefold()
            return nil
        }
        guard key.state.settled != id else { return nil }
        // A derived intent replaces the previous derived intent.
        if let former = key.state.derived {
            key.removeItem(OutboxItem.name(of: former, .derived))
        }
        key.state.derived = id
        return (item, .derived)
    }

    private func foldOutcome(
        _ outcome: OutcomeRecorded, _ event: borrowing FoldEvent, _ key: inout KeyedState<State>
    ) throws {
        reopen(after: outcome, &key)
        guard let (held, place) = try item(of: outcome.intent, outcome.isDerived, event, &key)
        else { return }
        var item = held
        if outcome.kind == .dropped,
            let index = key.state.held.firstIndex(where: { $0.intent == item.event })
        {
            key.state.held[index].isDropped = true
        }
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

    /// Makes the latest intent of a register pending again if it has ended and a request for an
    /// earlier intent has been sent since.
    private func reopen(after outcome: OutcomeRecorded, _ key: inout KeyedState<State>) {
        guard !outcome.register.isEmpty, [.dispatched, .confirmed].contains(outcome.kind),
            let type = eventTypes.firstIndex(where: { $0.name == outcome.register }),
            owners[type] == nil,
            let held = key.state.held.filter({ $0.typeIndex == type }).max(by: {
                $0.order < $1.order
            }), !held.isDropped,
            held.intent.description != outcome.intent,
            let milliseconds = held.order.stampMilliseconds
        else { return }
        let item = OutboxItem(held.intent, at: milliseconds)
        if key.item(item.name(.wanted)) == nil { key.set(item, .wanted) }
    }

    /// Adds one row per pending item.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        let (item, place) = try OutboxItem.read(named: item.key, item.value)
        guard place != .early else { return }
        var value = StateWriter()
        value.add(key.text)
        value.add(item.event)
        value.add(item.isDerived)
        item.encode(into: &value)
        rows.add(
            table: item.isSuperseded ? Table.superseded : Table.oldestFirst,
            key: RowKey().ascending(item.milliseconds).raw(item.name(place).bytes).text(key.name),
            value: value.bytes)
    }

    // MARK: - Reading

    /// The item of an intent, together with data about the key that the item belongs to.
    package struct Standing: Sendable {
        /// The item of the intent.
        package var item: OutboxItem
        /// Whether the outbox contains the item; a derived item may be missing.
        package var isListed: Bool
        /// The remote ids of the key's latest confirmations.
        package var taken: Set<String>
    }

    /// Returns the data of an intent; nil if the intent was confirmed or dropped, or if a later
    /// intent replaces it.
    ///
    /// - Parameter isOthers: Returns whether a later intent for the same register belongs to
    ///   another account, so that it replaces nothing.
    package func standing(
        of intent: Intent, _ views: some ViewReader,
        isOthers: (EventID) throws -> Bool = { _ in false }
    ) throws -> Standing? {
        let state = try views.state(of: self, key: intent.key) ?? State()
        let id = intent.event.id
        let name = OutboxItem.name(of: id, intent.isDerived ? .derived : .wanted)
        if let value = try views.item(of: self, key: intent.key, name: name) {
            let item = try OutboxItem(id, isDerived: intent.isDerived, decoding: value)
            if item.isSuperseded, try !state.intents(replacing: id).allSatisfy(isOthers) {
                return nil
            }
            return Standing(item: item, isListed: true, taken: Set(state.taken))
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

/// An intent without a final outcome.
public struct OutboxItem: Hashable, Sendable {
    /// The event that is the intent, or from which the intent is derived.
    public var event: EventID
    /// The time at which the intent was created, in milliseconds since 1970.
    public var milliseconds: UInt64
    /// Whether the intent is derived by a rule instead of being an event.
    public var isDerived = false
    /// The outcomes recorded so far for the parts of the intent.
    public var parts: [Part] = []
    /// The claims by devices to deliver the intent, in order.
    public var claims: [EventID] = []
    /// The number of retries requested by the user.
    public var retries: UInt64 = 0
    /// Whether another device has made a later intent for the same register, which replaces this
    /// one unless it belongs to another account.
    public var isSuperseded = false

    init(_ event: EventID, at milliseconds: UInt64, isDerived: Bool = false) {
        self.event = event
        self.milliseconds = milliseconds
        self.isDerived = isDerived
    }

    /// The latest outcome of a part of an intent.
    ///
    /// The part without a name represents the entire intent.
    public struct Part: Hashable, Sendable {
        /// The name of the part.
        public var target: String
        /// The kind of the outcome.
        public var kind: OutcomeRecorded.Kind
        /// The device that recorded the outcome.
        public var origin: OriginID
        /// The time of the outcome, in milliseconds since 1970.
        public var milliseconds: UInt64
        /// The error code.
        public var code: String
        /// The error message.
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

    /// Returns the latest outcome of a part.
    public func part(_ target: String) -> Part? { parts.first { $0.target == target } }

    /// The outcome (refused or unknown) of an intent that ended without success; nil if there is
    /// none.
    public var end: Part? { parts.first { $0.target.isEmpty && $0.isEnd } }
    /// The outcome that ended the entire intent or, if there is none, the first outcome that ended
    /// one of its parts.
    var anyEnd: Part? { end ?? parts.first(where: \.isEnd) }

    /// Whether the item has ended: the entire intent was confirmed, or the user dropped it.
    var isOver: Bool {
        isDropped || parts.contains { $0.target.isEmpty && $0.kind == .confirmed }
    }

    /// Whether the user dropped the intent.
    var isDropped: Bool { parts.contains { $0.kind == .dropped } }

    mutating func set(_ part: Part) {
        // A confirmation is final, even if other devices record a different outcome later.
        if let held = self.part(part.target), held.kind == .confirmed { return }
        parts.removeAll { $0.target == part.target }
        parts.append(part)
        parts.sort { $0.target.utf8.lexicographicallyPrecedes($1.target.utf8) }
    }

    // MARK: - Bytes

    /// The kinds of items stored for a key.
    enum Place: UInt8 {
        /// The intent is an event.
        case wanted = 0
        /// The intent is derived by a rule.
        case derived
        /// An outcome or claim of the intent was folded before the intent.
        case early
    }

    /// The name of an item: place (1 byte), origin and sequence number.
    static func name(of event: EventID, _ place: Place) -> RowKey {
        RowKey([place.rawValue]).ascending(event.origin.high).ascending(event.origin.low)
            .ascending(event.sequence)
    }

    func name(_ place: Place) -> RowKey { OutboxItem.name(of: event, place) }

    /// Reads an item and its name.
    static func read(
        named name: [UInt8], _ value: [UInt8]
    ) throws(ModelError) -> (OutboxItem, Place) {
        guard name.count == 25, let place = Place(rawValue: name[0]) else {
            throw ModelError(.damaged, "the name of an outbox item is invalid")
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
        isSuperseded = try reader.bool()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(milliseconds)
        writer.add(parts) { $1.encode(into: &$0) }
        writer.add(claims) { $0.add($1) }
        writer.add(retries)
        writer.add(isSuperseded)
    }
}

extension OutboxItem.Part {
    /// Whether the part has ended without success, so that only the user can retry or drop it.
    public var isEnd: Bool { kind == .refused || kind == .unknown }
}

/// An item and the key that it belongs to.
public struct OutboxRow: Hashable, Sendable {
    /// The key.
    public var key: Tag
    /// The item.
    public var item: OutboxItem
    /// The key of the row; pass it as `after` to continue reading.
    public var row: [UInt8]

    /// Returns items of an outbox, oldest first.
    ///
    /// - Parameter isSuperseded: Whether to return the items with `isSuperseded` instead of the
    ///   others.
    public static func page(
        of outbox: Outbox, _ views: some ViewReader, isSuperseded: Bool = false, after: [UInt8]?,
        limit: Int
    ) throws -> [OutboxRow] {
        let table = isSuperseded ? Outbox.Table.superseded : Outbox.Table.oldestFirst
        return try views.rows(
            of: outbox, table: table, lower: nil, upper: nil, after: after, limit: limit
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
    /// Returns the data of an intent; nil if the intent was confirmed or dropped, if a later intent
    /// replaces it, or if it belongs to none of the outboxes.
    ///
    /// - Parameter isOthers: Returns whether a later intent belongs to another account.
    @available(*, noasync)
    package func standing(
        of intent: Intent, in outboxes: [Outbox],
        isOthers: (EventID) throws -> Bool = { _ in false }
    ) throws -> Outbox.Standing? {
        guard let outbox = outboxes.first(where: { $0.tagKind == intent.key.kind }) else {
            return nil
        }
        return try read([outbox.name]) {
            try outbox.standing(of: intent, $0, isOthers: isOthers)
        }
    }
}
