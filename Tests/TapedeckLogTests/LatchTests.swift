import Foundation
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

@Suite(.offTasks) struct LatchTests {
    @Test func logRefusesWritesAfterAnIOErrorUntilReopened() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        log.queue.latch(LogError(.inputOutput, "the disk failed"))
        for call in [
            { _ = try log.appendBlocking([.sample(2)]) }, { try log.appendBuffered([.sample(2)]) },
            { _ = try log.recordReceipts([.sample(of: log.origin)]) }, { try log.mergeIndex() },
        ] {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .mustReopen)
            #expect(error?.message.contains("the disk failed") == true)
        }
        #expect(try log.allEvents().count == 1)
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        try again.appendBlocking([.sample(2)])
        #expect(again.head.rawValue == 2)
    }
}
