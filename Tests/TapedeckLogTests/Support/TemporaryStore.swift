import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport

extension TemporaryDirectory {
    func store(_ name: String = "store", _ options: EventLog.Options = .init()) throws -> EventLog {
        try EventLog.create(file(name), options: options)
    }
}

extension EventLog {
    /// Returns all events in log order.
    func allEvents() throws -> [EventEnvelope] {
        var all: [EventEnvelope] = []
        while true {
            let more = try events(after: all.last?.position ?? .start, limit: 10_000)
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Calls `append` with `.buffered`, for tests that do not run in tasks.
    func appendBuffered(_ events: [ProposedEvent]) throws {
        try queue.add(
            AppendRequest(events, nil, isBuffered: true) { _ in }, drain: { self.drain() })
    }
}
