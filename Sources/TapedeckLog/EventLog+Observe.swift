internal import TapedeckLMDB
package import TapedeckModel

extension EventLog {
    /// The result of `record(_:rows:)`.
    package struct RecordedEvents: Hashable, Sendable {
        /// Whether each event was recorded; an observation that is not new is skipped.
        package var isNew: [Bool] = []
        /// The end of the log before and after the events were recorded.
        package var before = LogPosition.start
        package var after = LogPosition.start

        /// The number of recorded events.
        package var recorded: Int { isNew.count { $0 } }
    }

    /// Records events under this store's origin, and a sync engine's rows, in one transaction.
    ///
    /// An event with a fact is recorded only if the fact is new (`AppendCondition.factIsNew`);
    /// other events are always recorded. A page from a remote and the position after it are thus
    /// committed together, and reading the page again adds nothing.
    ///
    /// - Parameter rowsFor: Returns additional rows, given the recorded events.
    ///
    /// Throws the same errors as a durable append.
    @available(*, noasync)
    @discardableResult
    package func record(
        _ events: [ProposedEvent], rows: [SyncRow] = [],
        rowsFor: (RecordedEvents) -> [SyncRow] = { _ in [] }
    ) throws(LogError) -> RecordedEvents {
        if !events.isEmpty { try EventLog.check(events) }
        let now = options.now()
        let (outcome, after) = try write { transaction in
            var state = try self.state(in: transaction)
            var outcome = RecordedEvents()
            outcome.before = LogPosition(rawValue: state.head)
            var accepted: [ProposedEvent] = []
            for event in events {
                if let fact = event.fact,
                    try self.conflict(
                        with: .factIsNew(fact), transaction, state, behind: accepted) != nil
                {
                    outcome.isNew.append(false)
                } else {
                    outcome.isNew.append(true)
                    accepted.append(event)
                }
            }
            if !accepted.isEmpty {
                state = try self.write(accepted, now: now, state, transaction)
            }
            outcome.after = LogPosition(rawValue: state.head)
            for row in rows + rowsFor(outcome) { try transaction.setRow(self.tables, row) }
            return (outcome, state)
        }
        guard outcome.recorded > 0 else { return outcome }
        adopt(after)
        announce()
        return outcome
    }
}
