import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A read sees everything appended before it, in any thread and whatever happens at the same time.
@Suite(.offTasks) struct ReadYourWritesTests {
    @Test func everyThreadSeesItsOwnAppends() throws {
        let store = try TestStore()
        let (log, runner) = (store.log, store.runner)
        try finishes {
            try Threads.run(8) { thread in
                for number in 1...25 {
                    try log.appendBlocking([
                        try ProposedEvent(
                            NoteAdded(isbn: "\(thread)", reader: "all", text: "\(number)"))
                    ])
                    let (book, reader) = try runner.read { views in
                        (
                            try views.state(of: BookHistory(), key: Tag("book", "\(thread)")),
                            try views.state(of: ReaderNotes(), key: Tag("reader", "all"))
                        )
                    }
                    #expect(book?.count == UInt64(number))
                    #expect(reader.map { $0.notes >= UInt64(number) } == true)
                }
            }
        }
        try store.checkVerifies()
    }

    @Test func readIncludesEventsBufferedByThisProcess() async throws {
        let store = try TestStore()
        for number in 1...5 {
            try await store.log.append(
                [try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))],
                durability: .buffered)
            let book = try ReadYourWritesTests.book(store.runner)
            #expect(book?.count == UInt64(number))
        }
    }

    private static func book(_ runner: ProjectionRunner) throws -> ChainState? {
        try runner.read { try $0.state(of: BookHistory(), key: Tag("book", "1")) }
    }

    /// Two keys that an append changes together are seen together.
    @Test func readSeesAllOfAnAppendOrNothing() throws {
        let store = try TestStore()
        let (log, runner) = (store.log, store.runner)
        let isDone = Atomic(false)
        try finishes {
            try Threads.run(3) { thread in
                if thread == 0 {
                    defer { isDone.store(true, ordering: .relaxed) }
                    for _ in 0..<60 {
                        try log.appendBlocking([
                            try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "a")),
                            try ProposedEvent(NoteAdded(isbn: "2", reader: "r", text: "b")),
                        ])
                    }
                } else {
                    while !isDone.load(ordering: .relaxed) {
                        let counts = try runner.read { views in
                            try ["1", "2"].map {
                                try views.state(of: BookHistory(), key: Tag("book", $0))?.count ?? 0
                            }
                        }
                        #expect(counts[0] == counts[1])
                    }
                }
            }
        }
    }

    /// New types and origins appear while the runner is between two reads of the log.
    @Test func newTypesAndOriginsMayAppearDuringFolds() throws {
        let store = try TestStore()
        let (log, runner) = (store.log, store.runner)
        let isDone = Atomic(false)
        try finishes {
            try Threads.run(4) { thread in
                if thread == 0 {
                    defer { isDone.store(true, ordering: .relaxed) }
                    for number in 0..<300 {
                        let stamp = Stamp(milliseconds: 1_000 + UInt64(number))
                        try log.record([
                            HistoryEvent(
                                origin: OriginID(high: 7, low: UInt64(number)), stamp: stamp,
                                proposal: ProposedEvent(
                                    type: EventType(stringLiteral: "Type\(number)"),
                                    tags: [try Tag("book", "1")],
                                    atMilliseconds: stamp.milliseconds, payload: [])),
                            HistoryEvent(
                                origin: OriginID(high: 7, low: UInt64(number)), stamp: stamp,
                                proposal: try ProposedEvent(
                                    NoteAdded(isbn: "1", reader: "r", text: "\(number)"),
                                    atMilliseconds: stamp.milliseconds)),
                        ])
                    }
                } else {
                    while !isDone.load(ordering: .relaxed) { try runner.read { _ in } }
                }
            }
        }
        try store.checkVerifies()
    }

    /// Receipts that arrive during the fold of a batch are not lost.
    @Test func receiptsRecordedDuringFoldsAreApplied() throws {
        let store = try TestStore([BookHistory(), ReaderNotes()])
        let (log, runner) = (store.log, store.runner)
        let origin = OriginID(high: 3, low: 3)
        let isDone = Atomic(false)
        try finishes {
            try Threads.run(3) { thread in
                guard thread == 0 else {
                    while !isDone.load(ordering: .relaxed) { try runner.read { _ in } }
                    return
                }
                defer { isDone.store(true, ordering: .relaxed) }
                for number in 1...250 as ClosedRange<UInt64> {
                    let stamp = Stamp(milliseconds: 100_000 + number * 10)
                    try log.record([
                        HistoryEvent(
                            origin: origin, stamp: stamp,
                            proposal: try ProposedEvent(
                                NoteAdded(isbn: "1", reader: "r", text: "\(number)"),
                                atMilliseconds: stamp.milliseconds))
                    ])
                    try log.recordReceipts([
                        Receipt(
                            event: EventID(origin: origin, sequence: max(1, number / 2)),
                            lineage: LineageID(high: 1, low: 1), serverPosition: number,
                            receivedAt: Stamp(milliseconds: 90_000 - number),
                            outcome: number % 5 == 0 ? .refused(.fork) : .accepted)
                    ])
                }
            }
        }
        try store.checkVerifies()
    }

    /// A thread that waits for a views file does not prevent the map of the log from growing.
    @Test func logCanGrowWhileAFoldWaitsForTheViews() throws {
        let directory = TestStore.emptyDirectory()
        defer { TestStore.remove(directory) }
        let log = try EventLog.create(directory, options: EventLog.Options(mapSizeBytes: 1 << 17))
        let runner = ProjectionRunner(log, projections: [BookHistory()])
        try runner.read { _ in }
        let file = try #require(try runner.serving(runner.drivers)?.first?.file)
        try log.appendBlocking([try ProposedEvent(LoanStarted(isbn: "1", reader: "r"))])
        let (hasGrown, hasRead) = (Latch(), Latch())
        try file.environment.write { _ in
            Thread.detachNewThread {
                try? runner.read { _ in }
                hasRead.open()
            }
            Thread.sleep(forTimeInterval: 0.05)
            Thread.detachNewThread {
                let text = String(repeating: "much ", count: 50_000)
                let note = NoteAdded(isbn: "1", reader: "r", text: text)
                _ = try? log.appendBlocking([try ProposedEvent(note)])
                hasGrown.open()
            }
            #expect(hasGrown.wait())
        }
        guard hasRead.wait() else {
            Issue.record("the reader and the log wait for each other")
            return
        }
        runner.close()
        log.close()
    }

    /// The log's map grows while projections fold and threads read, without a deadlock.
    @Test func logCanGrowDuringFolds() throws {
        for round in 0..<4 {
            let directory = TestStore.emptyDirectory()
            defer { TestStore.remove(directory) }
            let log = try EventLog.create(
                directory,
                options: EventLog.Options(mapSizeBytes: 1 << 17, unindexedEventsMax: 20))
            let runner = ProjectionRunner(log, projections: [BookHistory(), ShelfCounts()])
            try runner.read { _ in }
            try finishes("round \(round)") { try self.grow(log, runner) }
            runner.close()
            log.close()
        }
    }

    private func grow(_ log: EventLog, _ runner: ProjectionRunner) throws {
        let writers = Atomic(2)
        try Threads.run(5) { thread in
            guard thread < 2 else {
                while writers.load(ordering: .relaxed) > 0 {
                    try runner.read { views in
                        _ = try views.state(of: BookHistory(), key: Tag("book", "0"))
                        _ = try log.currentHead()
                    }
                }
                return
            }
            defer { _ = writers.subtract(1, ordering: .relaxed) }
            for number in 0..<30 {
                let text = String(repeating: "\(number) ", count: 20_000)
                try log.appendBlocking([
                    try ProposedEvent(NoteAdded(isbn: "\(thread)", reader: "r", text: text))
                ])
            }
        }
    }

    @Test func followingRunnerFoldsInTheBackground() throws {
        let store = try TestStore()
        store.runner.follow()
        for number in 0..<20 {
            try store.append(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))
        }
        store.runner.follow()
        try finishes { [runner = store.runner] in
            while try runner.status().contains(where: { $0.behind > 0 }) { sched_yield() }
        }
        try store.checkVerifies()
    }

    @Test func closedRunnerServesAndOpensNothing() throws {
        let store = try TestStore()
        try store.append(LoanStarted(isbn: "1", reader: "r"))
        store.runner.follow()
        try store.touch()
        store.runner.close()
        store.runner.close()
        let calls: [() throws -> Void] = [
            { try store.runner.read { _ in } }, { _ = try store.runner.rebuild() },
            { _ = try store.runner.verify() }, { _ = try store.runner.status() },
            { _ = try store.runner.frozenKeys() },
            { _ = try store.runner.replay(until: .position(.start)) },
        ]
        for call in calls {
            let error = #expect(throws: ProjectionError.self) { try call() }
            #expect(error?.code == .closed)
        }
        try store.append(LoanEnded(isbn: "1", reader: "r"))
        let isEmpty = store.runner.files.withLock { $0.isEmpty }
        #expect(isEmpty)
    }
}
