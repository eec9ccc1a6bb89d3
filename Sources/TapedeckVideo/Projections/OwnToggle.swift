internal import TapedeckModel
internal import TapedeckProjections

/// What the user wants of something that is on or off, said last, and what became of that.
///
/// A remote is told of it and may refuse. What it shows counts again once it has confirmed the toggle, or the
/// user has given it up.
struct OwnToggle: Equatable {
    var event: EventID
    var order: FoldOrder
    var isOn: Bool
    /// The last outcome of it.
    var outcome: IntentOutcome?

    init(_ event: borrowing FoldEvent, isOn: Bool) {
        self.event = event.id
        order = event.order
        self.isOn = isOn
    }

    /// Whether a `LikeToggled` says on.
    static func isLiked(_ payload: RawSpan) throws(ModelError) -> Bool {
        var isOn = false
        var fields = WireFields(payload)
        // The number as in schema/tapedeck/video/v1/videos.proto.
        while let field = fields.next() { if field.number == 3 { isOn = field.uint64 != 0 } }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a LikeToggled")
        }
        return isOn
    }

    /// The name of the toggle as outcomes have it.
    var intent: [UInt8] { Array(event.description.utf8) }

    /// Whether it is not settled: the remote has neither confirmed it, nor has the user given it up.
    var isWanted: Bool { outcome.map { $0.kind != .confirmed && $0.kind != .dropped } ?? true }

    /// Why a remote has refused it; nil where none has.
    var refusal: IntentOutcome? { outcome.flatMap { $0.kind == .refused ? $0 : nil } }

    init(decoding reader: inout StateReader) throws(ModelError) {
        event = try reader.eventID()
        order = try reader.foldOrder()
        isOn = try reader.bool()
        outcome = try reader.optional { (reader) throws(ModelError) in
            try IntentOutcome(decoding: try reader.bytes())
        }
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(order)
        writer.add(isOn)
        writer.add(outcome) { $0.add($1.encoded) }
    }
}

/// The last outcome of each intent under a key, as items: `r` event-id → `IntentOutcome`.
///
/// An outcome may come before its intent, and tells of it all the same.
enum OutcomeItems {
    private static let outcomes: [UInt8] = [UInt8(ascii: "r")]

    static func name(_ intent: [UInt8]) -> RowKey { RowKey(outcomes + intent) }
}

extension KeyedState {
    /// The last outcome of an intent.
    func outcome(of intent: [UInt8]) throws(ModelError) -> IntentOutcome? {
        guard let bytes = item(OutcomeItems.name(intent)) else { return nil }
        return try IntentOutcome(decoding: bytes)
    }

    /// Takes an outcome; gives its intent where it is the last one of it.
    mutating func takeOutcome(
        _ event: borrowing FoldEvent
    ) throws(ModelError) -> (intent: [UInt8], outcome: IntentOutcome)? {
        let told = try IntentOutcome.read(event.payload, order: event.order, of: nil)
        guard let (intent, outcome) = told else { return nil }
        if let held = try self.outcome(of: intent), held.order >= outcome.order { return nil }
        setItem(OutcomeItems.name(intent), outcome.encoded)
        return (intent, outcome)
    }
}
