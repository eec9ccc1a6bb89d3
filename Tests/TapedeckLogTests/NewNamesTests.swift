import Synchronization
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

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

    /// A log with events of which nine in ten can be compacted.
    private func ticks(
        _ count: Int, bytes: Int = 1, _ directory: TemporaryDirectory
    ) throws -> EventLog {
        let log = try directory.store()
        let rest = [UInt8](repeating: 0, count: bytes - 1)
        try log.appendBlocking(
            (0..<count).map {
                ProposedEvent(type: "Tick", tags: [], payload: [UInt8($0 % 200)] + rest)
            })
        return log
    }

    /// Compacts the log for the first time, which records the type of range stubs without changing
    /// the head.
    private func compact(_ log: EventLog) throws {
        let rule = CompactionRule(types: ["Tick"]) { candidates in
            candidates.map { ($0.event.payload.first ?? 0) % 10 != 0 }
        }
        #expect(try log.compact(rule, through: log.head).report.stubs > 0)
    }

    /// A way to read the entire log.
    enum Reader: CaseIterable {
        case export, canonical, scan, verify, events
    }

    @Test(arguments: Reader.allCases)
    func readersKnowTheTypeThatAnotherProcessCompacted(_ reader: Reader) throws {
        let directory = try TemporaryDirectory()
        let log = try ticks(1_100, directory)
        defer { log.close() }
        // The memory of this process is as if another process had compacted the log.
        let before = log.state.withLock { $0 }
        try compact(log)
        log.state.withLock { $0 = before }
        switch reader {
        case .export:
            try log.export(to: directory.file("all.tdx"))
            let other = try directory.store("other")
            defer { other.close() }
            try other.importEvents(from: directory.file("all.tdx"))
            #expect(other.head == log.head)
        case .canonical:
            var last: UInt64 = 0
            try log.forEachCanonical(of: log.origin, after: 0) { id, _ in
                last = id.sequence
                return true
            }
            #expect(last == 1_100)
        case .scan:
            var last = LogPosition.start
            try log.scan { last = $0.position }
            #expect(last == log.head)
        case .verify: #expect(try log.verify().problems == [])
        case .events: #expect(try log.allEvents().last?.position == log.head)
        }
    }

    /// With large events, the blocks of an export end within range stubs.
    @Test(arguments: [(3 * ExportFormat.eventsPerBlockMax, 1), (5_000, 1_500)])
    func exportContinuesAfterACompaction(_ count: Int, bytes: Int) throws {
        let directory = try TemporaryDirectory()
        let log = try ticks(count, bytes: bytes, directory)
        defer { log.close() }
        var isCompacted = false
        try log.export(to: directory.file("all.tdx")) { _ in
            guard !isCompacted else { return }
            isCompacted = true
            #expect(throws: Never.self) { try compact(log) }
        }
        let other = try directory.store("other")
        defer { other.close() }
        try other.importEvents(from: directory.file("all.tdx"))
        #expect(other.head == log.head)
        #expect(try other.verify().problems == [])
    }
}
