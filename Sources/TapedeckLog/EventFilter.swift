internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// A filter for events that have all of the tags and one of the types.
///
/// Without types, any type matches. An empty filter matches every event.
package struct EventFilter: Hashable, Sendable {
    package var tags: [Tag]
    package var types: [EventType]

    package init(tags: [Tag] = [], types: [EventType] = []) {
        self.tags = tags
        self.types = types
    }

    package var isEmpty: Bool { tags.isEmpty && types.isEmpty }

    func fits(_ event: ProposedEvent) -> Bool {
        tags.allSatisfy { event.tags.contains($0) } && (types.isEmpty || types.contains(event.type))
    }
}

/// A filter that uses one log's type numbers, so that records can be matched in place.
private struct RecordFilter {
    private let tags: [[UInt8]]
    /// Whether each type matches, indexed by the type's number; nil if every type matches.
    private let types: [Bool]?

    init(_ filter: EventFilter, _ types: [EventType]) {
        tags = filter.tags.map { Array($0.text.utf8) }
        self.types = filter.types.isEmpty ? nil : types.map { filter.types.contains($0) }
    }

    /// Whether any event of this log can match.
    var isPossible: Bool { types?.contains(true) ?? true }

    func fits(_ record: RecordView) throws(LogError) -> Bool {
        if let types {
            guard Int(record.type) < types.count else {
                throw LogError.damagedRecord(record.position, "its type \(record.type) is unknown")
            }
            guard types[Int(record.type)] else { return false }
        }
        return tags.allSatisfy { wanted in
            var isThere = false
            _ = record.forEachTag { if $0.elementsEqual(wanted) { isThere = true } }
            return isThere
        }
    }
}

extension EventLog {
    /// The maximum number of records that are read directly; for more records, the index is used.
    static let recordsReadMax: UInt64 = 1_024

    /// The number of positions to search at a time, for filters with several types.
    private static let recordsOrderedMax: UInt64 = 65_536

    /// Calls `body` with each matching record in (`after`, `through`], in log order, until it
    /// returns false.
    ///
    /// If there are few records or the filter is empty, the cost is a read of each record.
    /// Otherwise the cost is an index lookup, and a read of each record that has the first tag or,
    /// if the filter has no tags, one of the types.
    ///
    /// - Parameter types: All types of this log, indexed by number.
    func forEachRecord(
        fitting filter: EventFilter, after: UInt64, through: UInt64, types: [EventType],
        _ transaction: borrowing some Readable & ~Copyable, _ body: (RecordView) throws -> Bool
    ) throws {
        let wanted = RecordFilter(filter, types)
        guard after < through, wanted.isPossible else { return }
        if filter.isEmpty || through - after <= EventLog.recordsReadMax {
            var isOver = false
            let reached = try walk(transaction, after: after, through: through) { record in
                isOver = try !record.isStub && wanted.fits(record) && !body(record)
                return !isOver
            }
            // The remaining positions belong to a range stub that ends after `through`, or are
            // missing.
            if !isOver, reached < through,
                try record(standingFor: reached + 1, transaction)?.position ?? 0 < through
            {
                throw LogError.damagedRecord(reached + 1, "it is missing")
            }
            return
        }
        func look(at position: UInt64) throws -> Bool {
            let record = try indexedRecord(at: position, transaction)
            return try !wanted.fits(record) || body(record)
        }
        let terms = filter.tags.first.map { [Term(tag: $0)] } ?? filter.types.map { Term(type: $0) }
        if terms.count == 1 {
            return try forEachPosition(of: terms[0], transaction, after: after) { position in
                try position <= through && look(at: position)
            }
        }
        var lower = after
        while lower < through {
            let upper = lower + min(through - lower, EventLog.recordsOrderedMax)
            var positions: Set<UInt64> = []
            for term in terms {
                try forEachPosition(of: term, transaction, after: lower) { position in
                    guard position <= upper else { return false }
                    positions.insert(position)
                    return true
                }
            }
            for position in positions.sorted() where try !look(at: position) { return }
            lower = upper
        }
    }
}
