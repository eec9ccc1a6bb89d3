internal import TapedeckLMDB
package import TapedeckModel

/// A page of events that match a filter, in log order.
package struct EventPage: Sendable {
    package var events: [EventEnvelope] = []
    /// The last position searched: `events` contains every matching event after the requested
    /// position, up to this one.
    package var reached: LogPosition
}

extension EventLog {
    /// The maximum number of records to search per page, which keeps its transaction short.
    private static let recordsPerPageMax: UInt64 = 1 << 20
    /// The number of payload bytes after which a page ends.
    private static let bytesPerPageMax = 4 << 20

    /// The interval at which waiting subscriptions check for events from other processes.
    package static let pollInterval = Duration.milliseconds(50)

    /// Returns the next matching events that are on disk.
    ///
    /// A page may be empty even if more matching events follow. A reader has read everything only
    /// when it has reached the head.
    ///
    /// The cost is the same as for `forEachRecord(fitting:)`.
    @available(*, noasync)
    package func page(
        fitting filter: EventFilter, after: LogPosition, limit: Int
    ) throws(LogError) -> EventPage {
        try refreshState()
        return try read { try self.page(fitting: filter, after: after.rawValue, limit: limit, $0) }
    }

    /// Returns a page inside a transaction that began after `refreshState()`.
    func page(
        fitting filter: EventFilter, after: UInt64, limit: Int,
        _ transaction: borrowing some Readable & ~Copyable
    ) throws -> EventPage {
        // Events after the known head may have types and origins that are not known yet.
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
            // Return the intact events first. The error is thrown when the caller asks for the
            // events after them.
            page.reached = page.events.last?.position ?? page.reached
        }
        return page
    }
}
