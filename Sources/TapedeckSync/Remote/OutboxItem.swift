public import TapedeckModel
public import TapedeckProjections

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
    /// The earlier intents for the same register that were sent after this one had been confirmed, so
    /// that it is pending again unless they belong to other accounts.
    var reopenedBy: [EventID] = []

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
        reopenedBy = try reader.array { (reader) throws(ModelError) in try reader.eventID() }
    }

    func encode(into writer: inout StateWriter) {
        writer.add(milliseconds)
        writer.add(parts) { $1.encode(into: &$0) }
        writer.add(claims) { $0.add($1) }
        writer.add(retries)
        writer.add(isSuperseded)
        writer.add(reopenedBy) { $0.add($1) }
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
