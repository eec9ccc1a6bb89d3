internal import TapedeckLMDB
package import TapedeckModel

/// Some of the events that fit a filter, in the order of the log, and how far it was looked.
package struct EventPage: Sendable {
    package var events: [EventEnvelope] = []
    /// All that fits and stands behind what was asked for, up to here, is in `events`.
    package var reached: LogPosition
}

extension EventLog {
    /// How far one page looks, so that its transaction ends soon.
    private static let recordsPerPageMax: UInt64 = 1 << 20
    /// Bytes of payloads after which a page ends.
    private static let bytesPerPageMax = 4 << 20

    /// How often whoever waits for events looks for those of other processes.
    package static let pollInterval = Duration.milliseconds(50)

    /// The next events that fit, of those that are on disk.
    ///
    /// A page may be empty though more follows; who has reached the head has everything.
    ///
    /// Costs what `forEachRecord(fitting:)` does.
    @available(*, noasync)
    package func page(
        fitting filter: EventFilter, after: LogPosition, limit: Int
    ) throws(LogError) -> EventPage {
        try refreshState()
        return try read { try self.page(fitting: filter, after: after.rawValue, limit: limit, $0) }
    }

    /// `page` inside a transaction that was begun after `refreshState()`.
    func page(
        fitting filter: EventFilter, after: UInt64, limit: Int,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> EventPage {
        // Behind the head that is known may stand types and origins that are not.
        let (head, types) = state.withLock { ($0.head, $0.types) }
        let through = min(head, try lastPosition(transaction))
        guard after < through else { return EventPage(reached: LogPosition(rawValue: after)) }
        let end = try endOfRecord(at: min(through, after + EventLog.recordsPerPageMax), transaction)
        var page = EventPage(reached: LogPosition(rawValue: end))
        var bytes = 0
        do {
            try forEachRecord(
                fitting: filter, after: after, through: end, types: types, transaction
            ) { record in
                let envelope = try self.envelope(record)
                page.events.append(envelope)
                bytes += envelope.payload.count
                guard page.events.count < limit, bytes < EventLog.bytesPerPageMax else {
                    page.reached = envelope.position
                    return false
                }
                return true
            }
        } catch  where page.events.last != nil {
            // What is intact is given first; who asks on behind it is told what is not.
            page.reached = page.events.last?.position ?? page.reached
        }
        return page
    }
}
