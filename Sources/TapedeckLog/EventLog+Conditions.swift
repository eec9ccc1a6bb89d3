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
        case .tagged(let tags, let types, let after):
            func matches(_ event: ProposedEvent) -> Bool {
                tags.allSatisfy { event.tags.contains($0) }
                    && (types.isEmpty || types.contains(event.type))
            }
            if accepted.contains(where: matches) {
                return EventLog.conditionFailed(tags, position: nil)
            }
            guard
                let term = tags.first.map({ Term(tag: $0) }) ?? types.first.map({ Term(type: $0) })
            else { return nil }
            var found: LogPosition?
            try forEachPosition(of: term, transaction, after: after.rawValue) { position in
                guard let bytes = try transaction.get(tables.events, integer: position) else {
                    return true
                }
                let record = try self.record(bytes, at: position)
                var held: [Tag] = []
                record.forEachTag {
                    held.append(Tag(unchecked: String(decoding: $0, as: UTF8.self)))
                }
                guard Int(record.type) < state.types.count else {
                    throw LogError.damagedRecord(position, "it names type \(record.type)")
                }
                let type = state.types[Int(record.type)]
                guard tags.allSatisfy(held.contains), types.isEmpty || types.contains(type) else {
                    return true
                }
                found = LogPosition(rawValue: position)
                return false
            }
            return found.map { EventLog.conditionFailed(tags, position: $0) }
        case .fact(let fact):
            var sightings = try self.sightings(of: fact.entity, transaction)
            sightings += accepted.compactMap(\.fact).filter { $0.entity == fact.entity }
            guard EventLog.isKnown(fact, among: sightings) else { return nil }
            return LogError(.conditionFailed, "the fact is known already", hint: nil)
        }
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

    /// Whether a sighting says nothing new: its content is recorded, and it would not change the
    /// winner.
    package static func isKnown(_ fact: ObservedFact, among sightings: [ObservedFact]) -> Bool {
        guard sightings.contains(where: { $0.content == fact.content }),
            let winner = sightings.max(by: { $0.order < $1.order })
        else { return false }
        return winner.content == fact.content || fact.order < winner.order
    }

    private static func conditionFailed(_ tags: [Tag], position: LogPosition?) -> LogError {
        let names = tags.map(\.text).joined(separator: ", ")
        return LogError(
            .conditionFailed,
            "an event tagged \(names) stands at position \(position?.description ?? "of this commit")",
            hint: "read again and decide again", position: position)
    }
}
