package import TapedeckLog
package import TapedeckModel

extension Upstream {
    /// Returns a check for whether the servers permit compaction of an event with given receipts
    /// and all earlier events of its origin.
    ///
    /// Each server must have given the event a position, and its log must have been read up to
    /// there, because later digests no longer cover the event's bytes. Without servers, the check
    /// always succeeds.
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
