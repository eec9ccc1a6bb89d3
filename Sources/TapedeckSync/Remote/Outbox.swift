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
/// known, the latest intent is pending again, unless a reader finds that the outdated one belongs to
/// another account.
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
    /// 6.
    public var version: Int { 6 }
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
        only the latest change is pending. If an earlier change of the account is sent after the \
        latest change was confirmed, the latest change is pending again.
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
        try reopen(after: outcome, &key)
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

    /// Makes the later intents of a register pending again if they have ended and a request for an
    /// earlier intent is sent afterwards.
    ///
    /// Only the latest intent of the account whose request was sent must be sent again. The fold does
    /// not know the accounts, so it reopens the later intents of all devices.
    private func reopen(
        after outcome: OutcomeRecorded, _ key: inout KeyedState<State>
    ) throws {
        guard !outcome.register.isEmpty, [.dispatched, .confirmed].contains(outcome.kind),
            let type = eventTypes.firstIndex(where: { $0.name == outcome.register }),
            owners[type] == nil, let sent = EventID(outcome.intent)
        else { return }
        let register = key.state.held.filter { $0.typeIndex == type }
        let latest = register.map(\.order).max()
        // If the device has a later intent, only that one's order is known.
        let earliest = register.first { $0.intent.origin == sent.origin }?.order ?? latest
        for held in register where !held.isDropped && held.intent != sent {
            guard let earliest, held.order >= earliest,
                let milliseconds = held.order.stampMilliseconds
            else { continue }
            var item = OutboxItem(held.intent, at: milliseconds)
            if let value = key.item(item.name(.wanted)) {
                item = try OutboxItem(held.intent, decoding: value)
                guard !item.reopenedBy.isEmpty, !item.reopenedBy.contains(sent) else { continue }
            } else {
                item.isSuperseded = held.order != latest
            }
            item.reopenedBy.append(sent)
            key.set(item, .wanted)
        }
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
