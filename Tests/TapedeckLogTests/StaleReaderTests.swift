import Foundation
@testable import TapedeckLog
import Testing

struct StaleReaderTests {
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
    }
}
