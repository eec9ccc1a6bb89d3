import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A rebuild runs alongside readers and writers, and leaves either the new tables or the old ones.
@Suite(.offTasks) struct BlueGreenTests {
    private func loan(_ number: Int) throws -> [ProposedEvent] {
        [try ProposedEvent(LoanStarted(isbn: "\(number % 7)", reader: "r"))]
    }

    /// The number of loans that the projections have folded.
    private func count(_ runner: ProjectionRunner) throws -> UInt64 {
        try runner.read(["history", "reader-history"]) { views in
            let perReader = try views.state(of: ReaderHistory(), key: Tag("reader", "r"))?.count
            var perBook: UInt64 = 0
            for book in 0..<7 {
                perBook +=
                    try views.state(of: BookHistory(), key: Tag("book", "\(book)"))?.count ?? 0
            }
            #expect(perBook == perReader ?? 0, "two projections are at different positions")
            return perBook
        }
    }

    @Test func readersSeeEveryAppendDuringRebuilds() throws {
        let store = try TestStore()
        let (log, runner) = (store.log, store.runner)
        for number in 0..<50 { try log.appendBlocking(try loan(number)) }
        // A reader that finds no tables builds them, and only one build may run at a time.
        try store.touch()
        let isDone = Atomic(false)
        try finishes {
            try Threads.run(4) { thread in
                switch thread {
                case 0:
                    defer { isDone.store(true, ordering: .relaxed) }
                    for round in 0..<12 {
                        _ = try runner.rebuild(options: RebuildOptions(workers: 1 + round % 3))
                    }
                case 1:
                    var number = 50
                    while !isDone.load(ordering: .relaxed) {
                        try log.appendBlocking(try self.loan(number))
                        number += 1
                        #expect(try self.count(runner) >= UInt64(number))
                    }
                default:
                    var seen: UInt64 = 50
                    while !isDone.load(ordering: .relaxed) {
                        let now = try self.count(runner)
                        #expect(now >= seen, "an event that was seen has disappeared")
                        seen = now
                    }
                }
            }
        }
        try store.checkVerifies()
    }

    @Test func readersDoNotWaitForARebuild() throws {
        let store = try TestStore()
        for number in 0..<50 { try store.log.appendBlocking(try loan(number)) }
        try store.touch()
        let (log, runner) = (store.log, store.runner)
        let (isUnderWay, hasRead) = (Latch(), Latch())
        try finishes {
            try Threads.run(2) { thread in
                if thread == 0 {
                    let options = RebuildOptions(progress: { _ in
                        isUnderWay.open()
                        #expect(hasRead.wait(), "the reader waited for the rebuild")
                    })
                    _ = try runner.rebuild(options: options)
                } else {
                    #expect(isUnderWay.wait())
                    try log.appendBlocking(try self.loan(50))
                    #expect(try self.count(runner) == 51)
                    #expect(try runner.verify().differences.isEmpty)
                    hasRead.open()
                }
            }
        }
        #expect(try count(runner) == 51)
    }

    @Test func eventsAppendedDuringARebuildAreIncluded() throws {
        let store = try TestStore()
        for number in 0..<200 { try store.log.appendBlocking(try loan(number)) }
        let (log, runner) = (store.log, store.runner)
        let appended = Atomic(200)
        _ = try runner.rebuild(
            options: RebuildOptions(progress: { _ in
                let number = appended.add(1, ordering: .relaxed).oldValue
                do {
                    try log.appendBlocking(try self.loan(number))
                } catch {
                    Issue.record(error)
                }
            }))
        #expect(appended.load(ordering: .relaxed) > 203)
        #expect(try count(runner) == UInt64(appended.load(ordering: .relaxed)))
        try store.checkVerifies()
    }

    @Test func readContinuesInTheFileThatARebuildReplaces() throws {
        let store = try TestStore()
        try store.log.appendBlocking(try loan(0))
        let runner = store.runner
        try finishes {
            try runner.read { views in
                let before = try views.state(of: ReaderHistory(), key: Tag("reader", "r"))
                _ = try? Threads.run(1) { _ in _ = try runner.rebuild() }
                #expect(try views.state(of: ReaderHistory(), key: Tag("reader", "r")) == before)
            }
        }
        #expect(try store.viewsFiles() == ["views-2.mdb", "views-2.mdb-lock"])
    }

    // MARK: - Ending early

    @Test func cancelledRebuildChangesNothing() throws {
        let store = try TestStore()
        for number in 0..<300 { try store.log.appendBlocking(try loan(number)) }
        let digests = try store.liveDigests()
        let files = try store.viewsFiles()
        let fingerprint = ProjectionDriver.fingerprint(of: BookHistory())
        let entry = try store.log.viewsEntry(fingerprint)
        var cancelled = 0
        for turn in Array(0..<8) + [10, 12, 14, 16] {
            let asked = Atomic(0)
            let options = RebuildOptions(
                workers: 2,
                isCancelled: { asked.add(1, ordering: .relaxed).oldValue >= turn })
            do {
                _ = try store.runner.rebuild(options: options)
            } catch is CancellationError {
                cancelled += 1
                #expect(try store.viewsFiles() == files)
                #expect(try store.log.viewsEntry(fingerprint) == entry)
                #expect(try store.liveDigests() == digests)
            }
        }
        #expect(cancelled == 12, "a rebuild checks at every partition")
        try store.checkVerifies()
    }

    @Test func failedRebuildLeavesNoFiles() throws {
        let store = try TestStore()
        for number in 0..<20 { try store.log.appendBlocking(try loan(number)) }
        try store.touch()
        let files = try store.viewsFiles()
        let isCancelled: @Sendable () -> Bool = { true }
        #expect(throws: CancellationError.self) {
            try store.runner.verify(options: RebuildOptions(isCancelled: isCancelled))
        }
        #expect(throws: CancellationError.self) {
            try store.runner.replay(
                until: .position(.start), options: RebuildOptions(isCancelled: isCancelled))
        }
        #expect(try store.viewsFiles() == files)
    }

    @Test func closingTheStoreEndsARebuild() throws {
        let store = try TestStore()
        for number in 0..<300 { try store.log.appendBlocking(try loan(number)) }
        try store.touch()
        let files = try store.viewsFiles()
        let (runner, log) = (store.runner, store.log)
        let (isUnderWay, isClosed) = (Latch(), Latch())
        try finishes {
            try Threads.run(2) { thread in
                if thread == 0 {
                    let options = RebuildOptions(
                        isCancelled: {
                            isUnderWay.open()
                            isClosed.wait()
                            return false
                        })
                    let error = #expect(throws: (any Error).self) {
                        try runner.rebuild(options: options)
                    }
                    #expect((error as? any CodedError)?.code == .closed)
                } else {
                    #expect(isUnderWay.wait())
                    runner.close()
                    log.close()
                    isClosed.open()
                }
            }
        }
        #expect(try store.viewsFiles() == files)
        try store.reopen(settled: false)
        try store.checkVerifies()
    }

    @Test func secondOfTwoConcurrentRebuildsIsRefused() throws {
        let store = try TestStore()
        for number in 0..<20 { try store.log.appendBlocking(try loan(number)) }
        try store.touch()
        let runner = store.runner
        let (isUnderWay, hasTried) = (Latch(), Latch())
        try finishes {
            try Threads.run(2) { thread in
                if thread == 0 {
                    let options = RebuildOptions(progress: { _ in
                        isUnderWay.open()
                        #expect(hasTried.wait(), "the second rebuild waited for the first")
                    })
                    _ = try runner.rebuild(options: options)
                } else {
                    #expect(isUnderWay.wait())
                    let error = #expect(throws: ProjectionError.self) { try runner.rebuild() }
                    #expect(error?.code == .busy)
                    hasTried.open()
                }
            }
        }
        _ = try runner.rebuild()
        try store.checkVerifies()
    }

    /// A reader that needs a projection waits while another thread builds the projection, and is
    /// not refused.
    @Test func readersWaitForTheBuildOfAMissingProjection() throws {
        let store = try TestStore(isLive: false)
        for number in 0..<50 { try store.log.appendBlocking(try loan(number)) }
        let runner = store.runner
        try finishes {
            try Threads.run(6) { thread in
                if thread == 0 {
                    do {
                        _ = try runner.rebuild()
                    } catch let error as ProjectionError where error.code == .busy {}
                } else {
                    #expect(try self.count(runner) == 50)
                }
            }
        }
    }
}
