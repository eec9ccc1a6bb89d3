internal import TapedeckModel
internal import TapedeckProjections

/// The user's intents under a key; an intent waits until a remote shows its result.
///
/// The intents are items and share the key with other items:
///
/// | name | value |
/// |---|---|
/// | `i` event-id | the intent: `OwnIntent` |
/// | `s` order | the event id of a waiting intent, neither shown by a remote nor dropped |
/// | `o` event-id | the last `IntentOutcome` of the intent, other than a confirmation |
/// | `q` event-id | empty; the item exists if a remote shows the result of the intent |
///
/// Each name contains the event id or the order of one intent. The order of arrival therefore does
/// not matter, and each update costs a few lookups, regardless of the number of intents.
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
    /// Adds an intent; returns the change in the number of waiting intents.
    mutating func addIntent(_ event: borrowing FoldEvent) throws(ModelError) -> Int {
        let id = event.id.textBytes
        let name = OwnIntents.intent(id)
        guard item(name) == nil else { return 0 }
        let intent = OwnIntent(
            event: event.id, order: event.order, at: Int64(event.stamp.milliseconds),
            payload: event.payload.withUnsafeBytes { Array($0) })
        setItem(name, intent.encoded)
        return try listIntent(id)
    }

    /// Adds an outcome; returns the change in the number of waiting intents.
    mutating func addOutcome(_ event: borrowing FoldEvent) throws(ModelError) -> Int {
        // A confirmation has no effect, because the intent waits until a remote shows its result.
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

    /// Records that a remote shows the result of an intent; returns the change in the number of
    /// waiting intents.
    mutating func showIntent(_ event: EventID) throws(ModelError) -> Int {
        let id = event.textBytes
        let name = OwnIntents.shown(id)
        guard item(name) == nil else { return 0 }
        setItem(name, [])
        return try listIntent(id)
    }

    /// The newest waiting intent and its last outcome.
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
