internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

extension EventLog {
    /// Returns the reason why a condition fails, or nil if it holds.
    ///
    /// - Parameter accepted: Earlier events of the same commit, which are not written yet.
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
            var observations = try self.observations(of: fact.entity, transaction)
            observations += accepted.compactMap(\.fact).filter { $0.entity == fact.entity }
            guard EventLog.isKnown(fact, among: observations) else { return nil }
            return LogError(.conditionFailed, "the fact is already known", hint: nil)
        case .unchanged(let boundary):
            return try conflict(with: boundary, transaction, state, behind: accepted)
        }
    }

    /// Returns the position of the first matching event after a position, or nil.
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

    /// Returns the recorded observations of a remote entity.
    private func observations(
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

    /// Returns whether an observation adds nothing: whether a later observation, or the one right
    /// before it, has the same content.
    ///
    /// Folds merge observations field by field. An observation that repeats earlier content is
    /// therefore new if different content was observed in between, even if a later observation
    /// overrides both.
    package static func isKnown(_ fact: ObservedFact, among observations: [ObservedFact]) -> Bool {
        if observations.contains(where: { $0.content == fact.content && fact.order <= $0.order }) {
            return true
        }
        let last = observations.filter { $0.order < fact.order }.max { $0.order < $1.order }
        return last?.content == fact.content
    }

    static func conditionFailed(_ filter: EventFilter, position: LogPosition?) -> LogError {
        let names = filter.tags.map(\.text).joined(separator: ", ")
        let types = filter.types.map(\.name).joined(separator: " or ")
        return conditionFailed(
            (types.isEmpty ? "an event" : "an event of type \(types)")
                + (names.isEmpty ? "" : " tagged \(names)")
                + " is already recorded (position \(position?.description ?? "not assigned yet"))",
            position: position)
    }

    static func conditionFailed(_ why: String, position: LogPosition? = nil) -> LogError {
        LogError(
            .conditionFailed, why, hint: "read the events again and repeat the decision",
            position: position)
    }
}
