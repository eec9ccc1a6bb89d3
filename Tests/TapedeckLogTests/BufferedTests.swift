import Foundation
@testable import TapedeckLog
import TapedeckModel
import Testing

struct BufferedTests {
    @Test func bufferedEventsAreRecordedSoon() async throws {
        let log = try TemporaryDirectory().store()
        #expect(try await log.append([.sample(1)], durability: .buffered) == nil)
        for _ in 0..<100 where log.head == .start { try await Task.sleep(for: .milliseconds(20)) }
        #expect(log.head.rawValue == 1)
        log.close()
    }

    @Test func durableAppendTakesBufferedEventsWithItInOrder() throws {
        let log = try TemporaryDirectory().store()
        try log.appendBuffered([.sample(1)])
        let second = try log.appendBlocking([.sample(2)])
        #expect(second.firstPosition.rawValue == 2)
    }

    @Test func flushPutsThemOnDisk() throws {
        let log = try TemporaryDirectory().store()
        try log.appendBuffered([.sample(1), .sample(2)])
        log.flush()
        #expect(log.head.rawValue == 2)
    }

    @Test func closingPutsThemOnDisk() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBuffered([.sample(1)])
        log.close()
        #expect(try EventLog(opening: directory.file("store")).head.rawValue == 1)
    }

    @Test func suspendingPutsThemOnDiskAndThenWritesNothing() throws {
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
