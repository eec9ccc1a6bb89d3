import Foundation
@testable import TapedeckLog
import TestSupport
import Testing

@Suite(.offTasks) struct StaleReaderTests {
    @Test func slotOfAKilledReaderIsCleared() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let child = try ChildProcess(directory.file("store"), seed: 1, "reading")
        child.waitUntilOpen()
        #expect(log.environment.clearStaleReaders() == 0)
        child.kill()
        _ = try child.finish()
        #expect(log.environment.clearStaleReaders() == 1)
        #expect(log.environment.clearStaleReaders() == 0)
        #expect(log.staleReadersCleared == 1)
    }

    @Test func slotsClearedAtOpeningAreCounted() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let child = try ChildProcess(directory.file("store"), seed: 1, "reading")
        child.waitUntilOpen()
        // Opening the lock file resets it unless another process has it open, so a second process
        // keeps the file open here.
        let other = try ChildProcess(directory.file("store"), seed: 2, "reading")
        other.waitUntilOpen()
        child.kill()
        _ = try child.finish()
        let log = try EventLog(opening: directory.file("store"))
        #expect(log.staleReadersCleared == 1)
        log.close()
    }
}
