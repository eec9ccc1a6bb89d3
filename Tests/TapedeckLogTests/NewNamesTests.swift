import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct NewNamesTests {
    /// The log, and whether all events have been appended.
    private final class Appending: Sendable {
        let log: EventLog
        let isDone = Atomic(false)

        init(_ log: EventLog) { self.log = log }

        /// Calls `body` with the head of the log until all events have been appended.
        func read(_ body: @escaping @Sendable (EventLog, LogPosition) throws -> Void) async throws {
            try await onThread { [self] in
                while !isDone.load(ordering: .relaxed) { try body(log, log.head) }
            }
        }
    }

    /// Each commit records an event of a type that no reader has seen before.
    @Test func readersKnowTheTypesOfConcurrentAppends() async throws {
        let directory = try TemporaryDirectory()
        let appending = Appending(try directory.store())
        let tag = Tag(unchecked: "note/1")
        async let page: Void = appending.read { _ = try $0.events(after: $1) }
        async let tagged: Void = appending.read { _ = try $0.events(after: $1, tag: tag) }
        async let single: Void = appending.read {
            _ = try $0.event(at: LogPosition(rawValue: $1.rawValue + 1))
        }
        try await onThread {
            defer { appending.isDone.store(true, ordering: .relaxed) }
            for number in 0..<2_000 {
                let type = EventType(stringLiteral: "Type\(number)")
                try appending.log.appendBlocking([
                    ProposedEvent(type: type, tags: [tag], payload: [1])
                ])
            }
        }
        _ = try await (page, tagged, single)
    }
}
