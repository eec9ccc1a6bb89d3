import TapedeckLMDB
import TapedeckModel

@testable import TapedeckLog

extension EventLog {
    /// Records events from other origins in one commit, as an import or a pull does.
    func record(_ events: [HistoryEvent]) throws {
        guard !events.isEmpty else { return }
        var last: [OriginID: Int] = [:]
        for (place, event) in events.enumerated() { last[event.origin] = place }
        let after = try write { transaction -> LogState in
            var writer = RecordWriter(
                self.tables,
                try LogState(reading: transaction, self.tables))
            let cursor = try transaction.cursor(self.tables.events)
            for (place, event) in events.enumerated() {
                try writer.add(
                    event.proposal, reissuedFrom: event.reissuedFrom,
                    origin: try writer.ordinal(of: event.origin, transaction), stamp: event.stamp,
                    endsCommit: last[event.origin] == place, transaction, cursor)
            }
            return try self.finish(writer, transaction)
        }
        adopt(after)
        announce()
    }
}
