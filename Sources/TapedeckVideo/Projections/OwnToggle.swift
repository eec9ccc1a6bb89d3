internal import TapedeckModel
internal import TapedeckProjections

/// The user's last change of an on/off state, such as a like, and its outcome.
///
/// A remote may refuse the toggle. Once the remote has confirmed the toggle or the user has dropped
/// it, the state shown by the remote applies again.
struct OwnToggle: Equatable {
    var event: EventID
    var order: FoldOrder
    var isOn: Bool
    /// The last outcome of the toggle.
    var outcome: IntentOutcome?

    init(_ event: borrowing FoldEvent, isOn: Bool) {
        self.event = event.id
        order = event.order
        self.isOn = isOn
    }

    /// Returns whether a `LikeToggled` turns the like on.
    static func isLiked(_ payload: RawSpan) throws(ModelError) -> Bool {
        var isOn = false
        var fields = WireFields(payload)
        // The field number is defined in schema/tapedeck/video/v1/videos.proto.
        while let field = fields.next() { if field.number == 3 { isOn = field.uint64 != 0 } }
        guard !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a LikeToggled")
        }
        return isOn
    }

    /// The event id, in the form that outcomes use.
    var intent: [UInt8] { event.textBytes }

    /// Whether the toggle is unsettled: neither confirmed by the remote nor dropped by the user.
    var isWanted: Bool { outcome.map { $0.kind != .confirmed && $0.kind != .dropped } ?? true }

    /// The refusal by a remote; nil if the last outcome is not a refusal.
    var refusal: IntentOutcome? { outcome?.refusal }

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
/// An outcome that arrives before its intent is kept until the intent arrives.
enum OutcomeItems {
    private static let outcomes: [UInt8] = [UInt8(ascii: "r")]

    static func name(_ intent: [UInt8]) -> RowKey { RowKey(outcomes + intent) }
}

extension KeyedState {
    /// Returns the last outcome of an intent.
    func outcome(of intent: [UInt8]) throws(ModelError) -> IntentOutcome? {
        guard let bytes = item(OutcomeItems.name(intent)) else { return nil }
        return try IntentOutcome(decoding: bytes)
    }

    /// Adds an outcome; returns it with its intent, or nil if the same or a newer outcome has
    /// already been added.
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
