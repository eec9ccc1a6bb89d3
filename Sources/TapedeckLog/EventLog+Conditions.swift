internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

extension EventLog {
    /// Why a condition does not hold, or nil where it does.
    ///
    /// - Parameter accepted: events of the same commit that come before, not written yet.
    func conflict(
        with condition: AppendCondition, _ transaction: borrowing some Readable & ~Copyable,
        _ state: LogState, behind accepted: [ProposedEvent]
    ) throws -> LogError? {
        switch condition.kind {
        case .none(let filter, let after):
            if accepted.contains(where: filter.fits) {
                return EventLog.conditionFailed(filter, position: nil)
            }
            return try first(fitting: filter, after: after.rawValue, transaction, state)
                .map { EventLog.conditionFailed(filter, position: $0) }
        case .fact(let fact):
            var sightings = try self.sightings(of: fact.entity, transaction)
            sightings += accepted.compactMap(\.fact).filter { $0.entity == fact.entity }
            guard EventLog.isKnown(fact, among: sightings) else { return nil }
            return LogError(.conditionFailed, "the fact is known already", hint: nil)
        case .unchanged(let boundary):
            return try conflict(with: boundary, transaction, state, behind: accepted)
        }
    }

    /// Where the first event behind a position stands that fits, or nil.
    func first(
        fitting filter: EventFilter, after: UInt64,
        _ transaction: borrowing some Readable & ~Copyable, _ state: LogState
    ) throws -> LogPosition? {
        var found: LogPosition?
        try forEachRecord(
            fitting: filter, after: after, through: try lastPosition(transaction),
            types: state.types, transaction
        ) { record in
            found = LogPosition(rawValue: record.position)
            return false
        }
        return found
    }

    /// The sightings of a remote entity that are recorded.
    private func sightings(
        of entity: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> [ObservedFact] {
        var found: [ObservedFact] = []
        try forEachPosition(of: Term(entity: entity), transaction, after: 0) { position in
            guard let bytes = try transaction.get(tables.events, integer: position) else {
                return true
            }
            if let fact = try self.record(bytes, at: position).fact, fact.entity == entity {
                found.append(fact)
            }
            return true
        }
        return found
    }

    /// Whether a sighting says nothing new: a later one says the same, or the one right before it does.
    ///
    /// Folds merge sightings field by field, so what lies between two that say the same counts: the later
    /// of these is news, also where a third one wins over both.
    package static func isKnown(_ fact: ObservedFact, among sightings: [ObservedFact]) -> Bool {
        if sightings.contains(where: { $0.content == fact.content && fact.order <= $0.order }) {
            return true
        }
        let last = sightings.filter { $0.order < fact.order }.max { $0.order < $1.order }
        return last?.content == fact.content
    }

    static func conditionFailed(_ filter: EventFilter, position: LogPosition?) -> LogError {
        let names = filter.tags.map(\.text).joined(separator: ", ")
        let types = filter.types.map(\.name).joined(separator: " or ")
        return conditionFailed(
            (types.isEmpty ? "an event" : "an event of type \(types)")
                + (names.isEmpty ? "" : " tagged \(names)")
                + " stands at position \(position?.description ?? "of this commit")",
            position: position)
    }

    static func conditionFailed(_ why: String, position: LogPosition? = nil) -> LogError {
        LogError(
            .conditionFailed, why, hint: "read again and decide again", position: position)
    }
}
