internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// The part of a log that a decision is based on.
///
/// The design follows dynamic consistency boundaries (dcb.events). The boundary consists of filters
/// for the relevant events, and the position up to which they were read. Two other things can
/// change the result: a receipt can move an event in its key's order or refuse it, and the log file
/// can be restored to an earlier state. The boundary therefore also includes the number of the last
/// receipt change and the checksum of the last event.
package struct ReadBoundary: Hashable, Sendable {
    /// The filters for events that could change the result.
    package var filters: Set<EventFilter>
    /// The last position that was read, and the checksum of the record there.
    package var position: UInt64
    package var checksum: UInt32
    /// The number of the last receipt change that was read.
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
    /// Fails if an event or receipt that could change the result has been recorded since the
    /// boundary was read.
    package static func unchanged(_ boundary: ReadBoundary) -> AppendCondition {
        AppendCondition(kind: .unchanged(boundary))
    }
}

extension EventLog {
    /// The maximum number of receipt changes to check individually; a larger number is treated as a
    /// conflict.
    private static let changesReadMax = 1_024

    /// Returns the reason why a boundary is no longer valid; nil if it is still valid.
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
            return EventLog.conditionFailed("the log was restored to an earlier state")
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
            return EventLog.conditionFailed("the log was restored to an earlier state")
        }
        let (rows, reached) = try overrides(
            transaction, changedAfter: boundary.change, limit: EventLog.changesReadMax)
        guard reached == last else {
            return EventLog.conditionFailed("too many receipts were recorded in the meantime")
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
                        "a receipt for the event at position \(row.position) was recorded")
                }
            }
        }
        return nil
    }
}
