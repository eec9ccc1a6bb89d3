import Foundation
import TapedeckLMDB
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A user deletes or replaces files of a store that is open, such as to end a `busy` error.
@Suite(.offTasks) struct FileReplacementTests {
    /// Writes a copy over a file, which keeps its inode.
    ///
    /// The file is never shorter than the pages that a store may read at any time.
    private func overwrite(_ path: String, with copy: Data) throws {
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.write(contentsOf: copy)
        try file.truncate(atOffset: UInt64(copy.count))
        try file.close()
    }

    /// Checks that a store records nothing until it is opened again, and then has `events` events.
    private func checkMustReopen(
        _ log: EventLog, _ directory: TemporaryDirectory, events: UInt64,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = #expect(throws: LogError.self, sourceLocation: sourceLocation) {
            try log.appendBlocking([.sample(8)])
        }
        #expect(error?.code == .mustReopen, sourceLocation: sourceLocation)
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        #expect(again.head.rawValue == events, sourceLocation: sourceLocation)
        try again.appendBlocking([.sample(9)])
        #expect(try again.verify().problems.isEmpty, sourceLocation: sourceLocation)
    }

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

    /// Other processes may have recorded events while the lock file was elsewhere.
    @Test func storeAcceptsNoEventsAfterItsLockFileWasMovedAndPutBack() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let (file, lock) = (log.environment.path, directory.file("store") + "/log.mdb-lock")
        try FileManager.default.moveItem(atPath: lock, toPath: lock + ".old")
        // Another environment of the same file is like another process.
        let other = try Environment(path: file, options: .init(tablesMax: 8))
        let tables = try LogTables(other)
        try other.write { try $0.put(tables.meta, Array("probe".utf8), [1]) }
        #expect(try other.write { try $0.delete(tables.meta, Array("probe".utf8)) })
        other.close()
        try FileManager.default.removeItem(atPath: lock)
        try FileManager.default.moveItem(atPath: lock + ".old", toPath: lock)
        try checkMustReopen(log, directory, events: 1)
    }

    /// LMDB might continue from a commit that is older than the copy.
    @Test(arguments: [1, 2])
    func storeAcceptsNoEventsAfterACopyWasWrittenOverItsLog(lost: Int) throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for number in 1...2 { try log.appendBlocking([.sample(number)]) }
        let copy = try Data(contentsOf: URL(fileURLWithPath: log.environment.path))
        for number in 0..<lost { try log.appendBlocking([.sample(number)]) }
        try overwrite(log.environment.path, with: copy)
        try checkMustReopen(log, directory, events: 2)
    }

    /// The file keeps its name, but the store still has the former file open.
    @Test func storeAcceptsNoEventsAfterAnotherFileHasTakenThePlaceOfItsLog() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let path = log.environment.path
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        #expect(rename(path + ".copy", path) == 0)
        try checkMustReopen(log, directory, events: 1)
    }

    /// The events would be in the moved directory, where no other process looks for them.
    @Test func storeAcceptsNoEventsAfterACopyHasTakenThePlaceOfItsDirectory() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let store = directory.file("store")
        try FileManager.default.moveItem(atPath: store, toPath: store + ".old")
        try FileManager.default.copyItem(atPath: store + ".old", toPath: store)
        try checkMustReopen(log, directory, events: 1)
    }

    /// The events are in the former file only, so they must not be acknowledged.
    @Test func commitDuringWhichTheLogIsReplacedFails() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let path = log.environment.path
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        let error = #expect(throws: LogError.self) {
            try log.write { transaction in
                try transaction.put(log.tables.meta, Array("probe".utf8), [1])
                #expect(rename(path + ".copy", path) == 0)
            }
        }
        #expect(error?.code == .mustReopen)
        #expect(error?.message.contains("may have been recorded") == true)
        try checkMustReopen(log, directory, events: 1)
    }

    /// As `cp backup/* store/` does; the files then agree with each other.
    @Test func storeAcceptsNoEventsAfterCopiesWereWrittenOverBothFiles() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        try log.appendBlocking([.sample(1)])
        let paths = [log.environment.path, Environment.lockFile(of: log.environment.path)]
        let copies = try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        for number in 2...3 { try log.appendBlocking([.sample(number)]) }
        for (path, copy) in zip(paths, copies) { try overwrite(path, with: copy) }
        try checkMustReopen(log, directory, events: 1)
    }

    /// A process that opened the store with a new lock file waits for the commit, and then finds that
    /// it does not know that commit.
    @Test func commitIsNotOverwrittenIfTheLockFileIsLostMeanwhile() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let (file, key) = (log.environment.path, Array("probe".utf8))
        let other = try log.write { transaction in
            try transaction.put(log.tables.meta, key, [1])
            try FileManager.default.removeItem(atPath: Environment.lockFile(of: file))
            #expect(try FileLock.take(file, .alone, creates: false) == nil)
            // Another environment of the same file is like another process.
            return try Environment(path: file, options: .init(tablesMax: 8))
        }
        let error = #expect(throws: LMDBError.self) { try other.write { _ in } }
        #expect(error?.kind == .replaced)
        other.close()
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        let value = try again.environment.read { transaction in
            try transaction.get(again.tables.meta, key).map(Array.init)
        }
        #expect(value == [1])
    }
}
