internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// What somebody has read of a log, and as of when: what a decision rests on.
///
/// The form is that of dynamic consistency boundaries (dcb.events): the events that were read about, and
/// the position up to which they are in what was read. Two things more can change what was read: a
/// receipt, which moves an event in its key's order or refuses it, and a log file that was put back to an
/// earlier state. So there is a number of the last change of receipts, and a checksum of the last event.
package struct ReadBoundary: Hashable, Sendable {
    /// Which events could change what was read.
    package var filters: Set<EventFilter>
    /// The last position that was read, and the checksum of what stood there.
    package var position: UInt64
    package var checksum: UInt32
    /// The last change of what counts of an event that was taken in.
    package var change: UInt64

    package init(
        _ filters: Set<EventFilter>, position: UInt64, checksum: UInt32, change: UInt64
    ) {
        self.filters = filters
        self.position = position
        self.checksum = checksum
        self.change = change
    }
}

extension AppendCondition {
    /// Fails if anything that could have changed what was read has been recorded since.
    package static func unchanged(_ boundary: ReadBoundary) -> AppendCondition {
        AppendCondition(kind: .unchanged(boundary))
    }
}

extension EventLog {
    /// Receipts that are looked at one by one; more than these count as a conflict.
    private static let changesReadMax = 1_024

    /// Why a boundary does not hold any more, or nil where it does.
    func conflict(
        with boundary: ReadBoundary, _ transaction: borrowing some Readable & ~Copyable,
        _ state: LogState, behind accepted: [ProposedEvent]
    ) throws -> LogError? {
        for filter in boundary.filters {
            if accepted.contains(where: filter.fits) {
                return EventLog.conditionFailed(filter, position: nil)
            }
        }
        guard try checksum(at: boundary.position, transaction) == boundary.checksum else {
            return EventLog.conditionFailed("the log was put back to an earlier state")
        }
        for filter in boundary.filters {
            if let found = try first(
                fitting: filter, after: boundary.position, transaction, state)
            {
                return EventLog.conditionFailed(filter, position: found)
            }
        }
        return try conflictOfReceipts(with: boundary, transaction, state)
    }

    private func conflictOfReceipts(
        with boundary: ReadBoundary, _ transaction: borrowing some Readable & ~Copyable,
        _ state: LogState
    ) throws -> LogError? {
        let last = try EventLog.lastChange(transaction, tables)
        guard boundary.change != last else { return nil }
        guard boundary.change < last else {
            return EventLog.conditionFailed("the log was put back to an earlier state")
        }
        let (rows, reached) = try overrides(
            transaction, changedAfter: boundary.change, limit: EventLog.changesReadMax)
        guard reached == last else {
            return EventLog.conditionFailed("very many receipts were recorded meanwhile")
        }
        for row in rows where row.position <= boundary.position {
            for filter in boundary.filters {
                var isConcerned = false
                try forEachRecord(
                    fitting: filter, after: row.position - 1, through: row.position,
                    types: state.types, transaction
                ) { _ in
                    isConcerned = true
                    return false
                }
                if isConcerned {
                    return EventLog.conditionFailed(
                        "a receipt of the event at position \(row.position) was recorded")
                }
            }
        }
        return nil
    }
}
