package import TapedeckLog
package import TapedeckModel

extension Upstream {
    /// Whether an event with some receipts, and all before it of its origin, may be compacted as far as servers
    /// are concerned: each has given it a place, and has been read up to there.
    ///
    /// Behind that no digest of what was read is over its bytes any more. Where a store has no server, always.
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
