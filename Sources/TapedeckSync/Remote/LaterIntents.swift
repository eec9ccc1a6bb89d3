internal import TapedeckLog
internal import TapedeckModel
internal import TapedeckProjections

/// Decides whether a later intent replaces an intent of a type that is not a register; see
/// `Connector.field(setBy:)`.
///
/// The outbox lists every intent of such a type, because each may set other fields. The decision
/// is made when the intent is read: a later intent that the user drops, or that the remote refuses,
/// no longer replaces the earlier intent.
struct LaterIntents {
    let log: EventLog
    let runner: ProjectionRunner
    let connector: any Connector
    let outboxes: [Outbox]
    let signIns: SignIns
    /// The account whose changes may be sent; nil if it is unknown.
    let speaker: String?

    /// Returns whether a later intent sets the same field as an intent.
    ///
    /// An intent that was dropped or refused replaces nothing, nor does one that must not be sent
    /// from the account. The cost depends on the number of events of the same type and key.
    func replace(_ intent: Intent) throws -> Bool {
        guard !intent.isDerived, let field = connector.field(setBy: intent.event) else {
            return false
        }
        let order = try order(of: intent.event)
        return try contains(intent.event.type, intent.key) { event in
            try order < self.order(of: event) && connector.field(setBy: event) == field
                && isValid(Intent(event, key: intent.key))
        }
    }

    /// Returns the position of an intent among the intents of its key, as the outbox orders them.
    private func order(of event: EventEnvelope) throws -> FoldOrder {
        FoldOrder(stamp: try log.standing(of: event).effectiveStamp, id: event.id)
    }

    /// Returns whether an intent may be sent, or was confirmed.
    private func isValid(_ intent: Intent) throws -> Bool {
        if try log.standing(of: intent.event).isRefused { return false }
        if let speaker, signIns.isOthers(intent.event.id, than: speaker, on: log.origin) {
            return false
        }
        let item = try runner.standing(of: intent, in: outboxes)?.item
        if let item, signIns.isPending(item) {
            return item.anyEnd?.kind != .refused
        }
        // An intent that one device delivers while another drops it has both outcomes.
        return try has(.confirmed, intent) || !has(.dropped, intent)
    }

    /// Returns whether an outcome of the entire intent is recorded.
    private func has(_ kind: OutcomeRecorded.Kind, _ intent: Intent) throws -> Bool {
        try contains(OutcomeRecorded.eventType, intent.key) { event in
            guard event.causation == intent.event.id else { return false }
            let outcome = try event.decode(OutcomeRecorded.self)
            return outcome.kind == kind && outcome.target.isEmpty && !outcome.isDerived
        }
    }

    /// Returns whether the log contains an event of a type and a key that satisfies a condition.
    private func contains(
        _ type: EventType, _ key: Tag, _ isMeant: (EventEnvelope) throws -> Bool
    ) throws -> Bool {
        var position = LogPosition.start
        while true {
            let page = try log.events(
                after: position, limit: LaterIntents.pageCount, type: type, tag: key)
            if try page.contains(where: isMeant) { return true }
            guard page.count == LaterIntents.pageCount, let last = page.last else { return false }
            position = last.position
        }
    }

    /// The number of events to read at a time.
    private static let pageCount = 500
}
