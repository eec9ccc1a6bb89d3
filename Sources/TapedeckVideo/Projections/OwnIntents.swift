internal import TapedeckModel
internal import TapedeckProjections

/// Intents of the user under a key that wait until a remote shows what came of them, as items beside others
/// of the same key.
///
/// | name | value |
/// |---|---|
/// | `i` event-id | the intent: `OwnIntent` |
/// | `s` order | nothing: one that is neither shown by a remote nor dropped; its name is the intent's place |
/// | `o` event-id | its last `IntentOutcome` that is no confirmation |
/// | `q` event-id | nothing: a remote shows what came of it |
///
/// Each of the four is told apart from the others by its event, so the order of arrival makes no difference
/// and each costs a few look-ups, however many intents there are.
enum OwnIntents {
    static let waiting: [UInt8] = [UInt8(ascii: "s")]
    private static let intents: [UInt8] = [UInt8(ascii: "i")]
    static let outcomes: [UInt8] = [UInt8(ascii: "o")]
    private static let shown: [UInt8] = [UInt8(ascii: "q")]

    static func intent(_ event: [UInt8]) -> RowKey { RowKey(intents + event) }
    static func outcome(_ event: [UInt8]) -> RowKey { RowKey(outcomes + event) }
    fileprivate static func shown(_ event: [UInt8]) -> RowKey { RowKey(shown + event) }
    fileprivate static func waiting(_ order: FoldOrder) -> RowKey { RowKey(waiting + order.item) }
}

extension KeyedState {
    /// Takes an intent; says by how many more wait.
    mutating func addIntent(_ event: borrowing FoldEvent) throws(ModelError) -> Int {
        let id = Array(event.id.description.utf8)
        let name = OwnIntents.intent(id)
        guard item(name) == nil else { return 0 }
        let intent = OwnIntent(
            event: event.id, order: event.order, at: Int64(event.stamp.milliseconds),
            payload: event.payload.withUnsafeBytes { Array($0) })
        setItem(name, intent.encoded)
        return try listIntent(id)
    }

    /// Takes an outcome; says by how many more wait.
    mutating func addOutcome(_ event: borrowing FoldEvent) throws(ModelError) -> Int {
        // What was confirmed waits for its sighting.
        guard let (intent, outcome) = try IntentOutcome.read(event.payload, order: event.order),
            outcome.kind != .confirmed
        else { return 0 }
        let name = OwnIntents.outcome(intent)
        if let held = item(name), try IntentOutcome(decoding: held).order >= outcome.order {
            return 0
        }
        setItem(name, outcome.encoded)
        return try listIntent(intent)
    }

    /// Notes that a remote shows what came of an intent; says by how many more wait.
    mutating func showIntent(_ event: EventID) throws(ModelError) -> Int {
        let id = Array(event.description.utf8)
        let name = OwnIntents.shown(id)
        guard item(name) == nil else { return 0 }
        setItem(name, [])
        return try listIntent(id)
    }

    /// The intent that was made last of those that wait, and what was said of it.
    var lastWaitingIntent: (intent: OwnIntent, outcome: IntentOutcome?)? {
        get throws(ModelError) {
            guard let last = lastItem(prefix: RowKey(OwnIntents.waiting)),
                let bytes = item(OwnIntents.intent(last.value))
            else { return nil }
            let outcome = item(OwnIntents.outcome(last.value))
            return (
                try OwnIntent(decoding: bytes),
                try outcome.map { bytes throws(ModelError) in try IntentOutcome(decoding: bytes) }
            )
        }
    }

    private mutating func listIntent(_ id: [UInt8]) throws(ModelError) -> Int {
        guard let bytes = item(OwnIntents.intent(id)) else { return 0 }
        let name = OwnIntents.waiting(try OwnIntent(decoding: bytes).order)
        let outcome = try item(OwnIntents.outcome(id)).map { bytes throws(ModelError) in
            try IntentOutcome(decoding: bytes)
        }
        let isWaiting = item(OwnIntents.shown(id)) == nil && outcome?.kind != .dropped
        guard isWaiting != (item(name) != nil) else { return 0 }
        if isWaiting { setItem(name, id) } else { removeItem(name) }
        return isWaiting ? 1 : -1
    }
}
