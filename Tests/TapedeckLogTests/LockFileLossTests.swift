import Foundation
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A user deletes the lock file of a store that is open, such as to end a `busy` error.
@Suite(.offTasks) struct LockFileLossTests {
    /// If the process still wrote, it and the next process would overwrite each other's events.
    @Test(arguments: [false, true])
    func storeAcceptsNoEventsAfterTheLossOfItsLockFile(isReplaced: Bool) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let lock = directory.file("store") + "/log.mdb-lock"
        try FileManager.default.removeItem(atPath: lock)
        if isReplaced { #expect(FileManager.default.createFile(atPath: lock, contents: nil)) }
        for call in [
            { _ = try log.appendBlocking([.sample(2)]) },
            { _ = try log.recordReceipts([.sample(of: log.origin)]) },
        ] {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .mustReopen && error?.message.contains(lock) == true)
        }
        #expect(try log.allEvents().count == 1)
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        try again.appendBlocking([.sample(3)])
        #expect(again.head.rawValue == 2)
        #expect(try again.verify().problems.isEmpty)
    }

    @Test func writeDuringWhichTheLockFileIsLostIsUndone() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let lock = directory.file("store") + "/log.mdb-lock"
        let error = #expect(throws: LogError.self) {
            try log.write { transaction in
                try transaction.put(log.tables.meta, Array("probe".utf8), [1])
                try FileManager.default.removeItem(atPath: lock)
            }
        }
        #expect(error?.code == .mustReopen)
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        #expect(
            try again.environment.read { transaction in
                try transaction.get(again.tables.meta, Array("probe".utf8)) == nil
            })
    }
}
