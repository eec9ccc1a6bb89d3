import TapedeckLog
import TapedeckModel

/// The expected contents of a log, as an array; it is slow, but so simple that it is obviously
/// correct.
struct LogModel {
    private(set) var events: [EventEnvelope] = []
    private(set) var given: Set<EventID> = []
    /// Compacted events, which are known but no longer in the log.
    private(set) var compacted: Set<EventID> = []
    private(set) var receipts: [EventID: [LineageID: Receipt]] = [:]
    private var clock = HybridClock()
    let origin: OriginID

    init(origin: OriginID) { self.origin = origin }

    var head: LogPosition { LogPosition(rawValue: UInt64(events.count)) }
    var ids: [EventID] { events.map(\.id) }
    /// The events in the log.
    var held: [EventEnvelope] { events.filter { !compacted.contains($0.id) } }

    func lastSequence(of origin: OriginID) -> UInt64 {
        events.last { $0.id.origin == origin }?.id.sequence ?? 0
    }

    // MARK: - Changes

    mutating func append(_ proposals: [ProposedEvent], now: UInt64) {
        for proposal in proposals {
            let stamp =
                proposal.atMilliseconds.map { Stamp(milliseconds: $0) }
                ?? clock.tick(milliseconds: now)
            let id = EventID(origin: origin, sequence: lastSequence(of: origin) + 1)
            if proposal.atMilliseconds != nil { given.insert(id) }
            events.append(proposal.envelope(id, LogPosition(rawValue: head.rawValue + 1), stamp))
        }
    }

    /// Adds the events of another model that this model does not have.
    mutating func importEvents(of other: LogModel) -> (recorded: Int, known: Int) {
        let held = Set(ids)
        var recorded = 0
        for var event in other.events where !held.contains(event.id) {
            event.position = LogPosition(rawValue: head.rawValue + 1)
            events.append(event)
            recorded += 1
            if other.given.contains(event.id) {
                given.insert(event.id)
            } else {
                clock.merge(other.standing(of: event).effectiveStamp)
            }
        }
        for receipt in other.receipts.values.flatMap(\.values) { record(receipt) }
        return (recorded, other.events.count - recorded)
    }

    mutating func compact(_ event: EventID) { compacted.insert(event) }

    mutating func record(_ receipt: Receipt) {
        let held = receipts[receipt.event]?[receipt.lineage]
        if let held, !receipt.counts(before: held) { return }
        receipts[receipt.event, default: [:]][receipt.lineage] = receipt
    }

    // MARK: - Results

    func events(
        after: LogPosition, limit: Int, type: EventType?, tag: Tag?
    ) -> [EventEnvelope] {
        Array(
            held.filter {
                $0.position > after && (type == nil || $0.type == type)
                    && (tag.map($0.tags.contains) ?? true)
            }.prefix(limit))
    }

    func standing(of event: EventEnvelope) -> Standing {
        Standing(of: event.stamp, Array((receipts[event.id] ?? [:]).values))
    }

    func forbids(tags: [Tag], types: [EventType], after: LogPosition) -> Bool {
        held.contains { event in
            event.position > after && tags.allSatisfy(event.tags.contains)
                && (types.isEmpty || types.contains(event.type))
        }
    }

    func knows(_ fact: ObservedFact) -> Bool {
        let observations = held.compactMap(\.fact).filter { $0.entity == fact.entity }
        let behind = observations.filter { fact.order <= $0.order }
        let before = observations.filter { $0.order < fact.order }.sorted { $0.order < $1.order }
        return behind.contains { $0.content == fact.content }
            || before.last?.content == fact.content
    }
}

extension ProposedEvent {
    func envelope(_ id: EventID, _ position: LogPosition, _ stamp: Stamp) -> EventEnvelope {
        EventEnvelope(
            id: id, position: position, stamp: stamp, type: type, schemaVersion: schemaVersion,
            tags: tags, fact: fact, causation: causation, correlation: correlation,
            reissuedFrom: nil, retention: retention, encoding: encoding, keyID: [],
            payload: payload)
    }
}
