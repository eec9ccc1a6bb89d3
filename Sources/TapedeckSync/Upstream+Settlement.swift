package import TapedeckLog
package import TapedeckModel

extension Upstream {
    /// Returns a function that takes an event and its receipts, and checks whether the servers
    /// permit compaction of this event and of all earlier events from its origin.
    ///
    /// Each server must have given the event a position, and this store must have read the server's
    /// log up to that position: until then, this store needs the event's bytes to compute the
    /// digest of that log. If there are no servers, the check always succeeds.
    @available(*, noasync)
    package static func settlement(
        in log: EventLog
    ) throws(LogError) -> @Sendable (EventID, [Receipt]) -> Bool {
        let servers = try counted(in: log)
        return { _, receipts in
            servers.allSatisfy { server in
                guard let cursor = server.cursor else { return false }
                return receipts.contains {
                    $0.lineage == cursor.lineage && $0.serverPosition <= cursor.position
                }
            }
        }
    }
}
