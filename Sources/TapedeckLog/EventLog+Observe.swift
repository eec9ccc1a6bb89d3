internal import TapedeckLMDB
package import TapedeckModel

extension EventLog {
    /// What `record(_:rows:)` did.
    package struct RecordedEvents: Hashable, Sendable {
        /// Of each event, whether it is recorded now; a sighting that said nothing new is not.
        package var isNews: [Bool] = []

        /// How many events are recorded now.
        package var recorded: Int { isNews.count { $0 } }
    }

    /// Records events as this store's origin, and rows of a sync engine's own, in one transaction.
    ///
    /// An event with a fact is recorded only where it is news (`AppendCondition.factIsNews`); the others
    /// always. So a page of a remote and the place behind it commit together, and a page that is read
    /// again adds nothing.
    ///
    /// - Parameter rowsFor: further rows, by what was news.
    ///
    /// Throws what a durable append throws.
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
            var accepted: [ProposedEvent] = []
            for event in events {
                if let fact = event.fact,
                    try self.conflict(
                        with: .factIsNews(fact), transaction, state, behind: accepted) != nil
                {
                    outcome.isNews.append(false)
                } else {
                    outcome.isNews.append(true)
                    accepted.append(event)
                }
            }
            if !accepted.isEmpty {
                state = try self.write(accepted, now: now, state, transaction)
            }
            for row in rows + rowsFor(outcome) { try transaction.setRow(self.tables, row) }
            return (outcome, state)
        }
        guard outcome.recorded > 0 else { return outcome }
        adopt(after)
        announce()
        return outcome
    }
}
