import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct BufferedTests {
    @Test func bufferedEventsAreRecordedSoon() async throws {
        let log = try TemporaryDirectory().store()
        #expect(try await log.append([.sample(1)], durability: .buffered) == nil)
        try await eventually("the buffered event") { log.head != .start }
        #expect(log.head.rawValue == 1)
        log.close()
    }

    @Test func durableAppendCommitsBufferedEventsFirst() throws {
        let log = try TemporaryDirectory().store()
        try log.appendBuffered([.sample(1)])
        let second = try log.appendBlocking([.sample(2)])
        #expect(second.firstPosition.rawValue == 2)
    }

    @Test func flushWritesBufferedEventsToDisk() throws {
        let log = try TemporaryDirectory().store()
        try log.appendBuffered([.sample(1), .sample(2)])
        log.flush()
        #expect(log.head.rawValue == 2)
    }

    @Test func readsIncludeEventsBufferedByThisProcess() throws {
        let log = try TemporaryDirectory().store()
        let reads: [(String, (UInt64) throws -> Bool)] = [
            ("all", { try log.allEvents().count == $0 }),
            ("tag", { try log.events(after: .start, tag: Tag("note/1")).count == $0 }),
            ("type", { try log.events(after: .start, type: "NoteTaken").count == $0 }),
            ("position", { try log.event(at: LogPosition(rawValue: $0)) != nil }),
            ("id", { try log.event(EventID(origin: log.origin, sequence: $0)) != nil }),
            (
                "scan",
                { count in
                    var seen: UInt64 = 0
                    try log.scan { _ in seen += 1 }
                    return seen == count
                }
            ),
            ("export", { try log.export(to: log.directory.path + "-x").events == $0 }),
        ]
        for (number, (name, read)) in reads.enumerated() {
            try log.appendBuffered([.sample(1)])
            #expect(try read(UInt64(number + 1)), "\(name)")
        }
    }

    /// An observer of a commit may read while other events wait for the next commit.
    @Test func commitObserverMayReadTheLog() throws {
        let log = try TemporaryDirectory().store()
        let (told, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let number = log.observeCommits { _ in
            told.signal()
            done.wait()
            #expect((try? log.allEvents().isEmpty) == false)
            told.signal()
        }
        try log.appendBuffered([.sample(1)])
        told.wait()
        try log.appendBuffered([.sample(2)])
        done.signal()
        told.wait()
        log.stopObserving(number)
        done.signal()
        #expect(try log.allEvents().count == 2)
    }

    @Test func closingWritesBufferedEventsToDisk() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBuffered([.sample(1)])
        log.close()
        #expect(try EventLog(opening: directory.file("store")).head.rawValue == 1)
    }

    @Test func suspendingWritesBufferedEventsThenStopsWriting() throws {
        let log = try TemporaryDirectory().store()
        try log.appendBuffered([.sample(1)])
        log.suspend()
        #expect(log.head.rawValue == 1)
        let error = #expect(throws: LogError.self) { try log.appendBlocking([.sample(2)]) }
        #expect(error?.code == .closed)
        #expect(throws: LogError.self) { try log.appendBuffered([.sample(2)]) }
        #expect(throws: LogError.self) { try log.recordReceipts([.sample(of: log.origin)]) }
        let transactions = log.environment.facts().lastTransaction
        usleep(250_000)
        #expect(log.environment.facts().lastTransaction == transactions)
        #expect(try log.allEvents().count == 1)
        log.resume()
        try log.appendBlocking([.sample(3)])
        #expect(log.head.rawValue == 2)
    }
}

extension Receipt {
    static func sample(of origin: OriginID, _ sequence: UInt64 = 1) -> Receipt {
        Receipt(
            event: EventID(origin: origin, sequence: sequence),
            lineage: LineageID(high: 1, low: 1), serverPosition: sequence,
            receivedAt: Stamp(milliseconds: 5))
    }
}
