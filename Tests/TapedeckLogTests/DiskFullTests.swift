import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct DiskFullTests {
    @Test func logLosesNothingOnAFullDiskAndResumesLater() throws {
        let directory = try TemporaryDirectory()
        guard let disk = MountedDirectory(megabytes: 8, at: directory.file("disk")) else { return }
        defer { withExtendedLifetime(disk) {} }
        let ballast = disk.path + "/ballast"
        try Data(count: 2 << 20).write(to: URL(fileURLWithPath: ballast))
        let store = disk.path + "/store"
        let log = try EventLog.create(store, options: .init(mapSizeBytes: 1 << 20))
        var count = 0
        var failure: LogError?
        while failure == nil, count < 100_000 {
            do throws(LogError) {
                try log.appendBlocking((0..<20).map { .sample($0, payload: 300) })
                count += 20
            } catch {
                failure = error
            }
        }
        #expect(failure?.code == .diskFull, "\(String(describing: failure))")
        #expect(count > 1_000)
        #expect(try log.allEvents().count == count)

        // All other kinds of writes fail with the same error.
        for call in [
            { _ = try log.appendBlocking((0..<20).map { .sample($0, payload: 300) }) },
            { try log.mergeIndex() }, { _ = try log.export(to: disk.path + "/full.tdx") },
            { _ = try log.backup(to: disk.path + "/full.mdb") },
        ] {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .diskFull, "\(String(describing: error))")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: disk.path)
        #expect(left.sorted() == ["ballast", "store"])
        #expect(try log.verify().problems == [])

        try FileManager.default.removeItem(atPath: ballast)
        try log.appendBlocking((0..<20).map { .sample($0, payload: 300) })
        try log.mergeIndex()
        log.close()
        let again = try EventLog(opening: store)
        #expect(try again.allEvents().count == count + 20)
        #expect(try again.verify().problems == [])
        again.close()
    }

    @Test func importOnAFullDiskKeepsItsProgressAndResumes() throws {
        let directory = try TemporaryDirectory()
        let source = try directory.store()
        for round in 0..<30 {
            try source.appendBlocking((0..<2_000).map { .sample($0 + round, payload: 200) })
        }
        try source.export(to: directory.file("all.tdx"))
        guard let disk = MountedDirectory(megabytes: 12, at: directory.file("disk")) else { return }
        defer { withExtendedLifetime(disk) {} }
        let log = try EventLog.create(disk.path + "/store", options: .init(mapSizeBytes: 1 << 20))
        let error = #expect(throws: LogError.self) {
            try log.importEvents(from: directory.file("all.tdx"))
        }
        #expect(error?.code == .diskFull, "\(String(describing: error))")
        let kept = log.head.rawValue
        #expect(kept > 0 && kept < 60_000)
        #expect(try log.verify().problems == [])
        log.close()
        try FileManager.default.copyItem(
            atPath: disk.path + "/store", toPath: directory.file("roomy"))
        let roomy = try EventLog(opening: directory.file("roomy"))
        let summary = try roomy.importEvents(from: directory.file("all.tdx"))
        #expect(summary.recorded == 60_000 - kept)
        #expect(summary.known == kept)
        #expect(try roomy.verify().problems == [])
    }

    @Test func creatingAStoreOnAFullDiskFails() throws {
        let directory = try TemporaryDirectory()
        guard let disk = MountedDirectory(megabytes: 1, at: directory.file("disk")) else { return }
        defer { withExtendedLifetime(disk) {} }
        _ = FileManager.default.createFile(
            atPath: disk.path + "/ballast", contents: Data(count: 1_040_000))
        let error = #expect(throws: LogError.self) { try EventLog.create(disk.path + "/store") }
        #expect(error?.code == .diskFull, "\(String(describing: error))")
        try FileManager.default.removeItem(atPath: disk.path + "/ballast")
        let log = try EventLog.create(disk.path + "/store")
        try log.appendBlocking([.sample(1)])
        log.close()
    }

    /// LMDB writes to its lock file through a map: if the file has holes, a full disk kills the
    /// process.
    @Test(arguments: [0, 4_096, 16_384]) func openingFailsIfTheLockFileDoesNotFit(
        freeBytes: Int
    ) throws {
        let directory = try TemporaryDirectory()
        guard let disk = MountedDirectory(megabytes: 1, at: directory.file("disk")) else { return }
        defer { withExtendedLifetime(disk) {} }
        let store = disk.path + "/store"
        try EventLog.create(store).close()
        try FileManager.default.removeItem(atPath: store + "/log.mdb-lock")
        let ballast = disk.path + "/ballast"
        try fill(disk.path, with: ballast, leaving: freeBytes)
        for open in [
            { _ = try EventLog(opening: store) }, { _ = try EventLog.create(disk.path + "/new") },
        ] {
            let error = #expect(throws: LogError.self) { try open() }
            #expect(error?.code == .diskFull, "\(String(describing: error))")
        }
        try FileManager.default.removeItem(atPath: ballast)
        let log = try EventLog(opening: store)
        try log.appendBlocking([.sample(1)])
        log.close()
    }

    private func fill(_ disk: String, with ballast: String, leaving freeBytes: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: disk)
        let free = try #require(attributes[.systemFreeSize] as? Int)
        #expect(
            FileManager.default.createFile(
                atPath: ballast, contents: Data(count: free - freeBytes)))
    }
}

@Suite(.offTasks) struct ReadOnlyTests {
    @Test func storeOnReadOnlyMediaCanBeReadButNotWritten() throws {
        let directory = try TemporaryDirectory()
        let source = try directory.store()
        try source.appendBlocking((0..<200).map { .sample($0) })
        try source.mergeIndex(keeping: 50, eventsPerRun: 100)
        let events = try source.allEvents()
        source.close()
        guard
            let disk = MountedDirectory(
                readOnly: directory.file("store"), at: directory.file("media"))
        else { return }
        defer { withExtendedLifetime(disk) {} }
        let refused = #expect(throws: LogError.self) { try EventLog(opening: disk.path) }
        #expect(refused?.code == .readOnly, "\(String(describing: refused))")
        #expect(refused?.hint?.contains("make it writable") == true)

        let log = try EventLog(opening: disk.path, options: .init(isReadOnly: true))
        #expect(try log.allEvents() == events)
        #expect(try log.events(after: .start, tag: Tag("note/3")).count == 18)
        #expect(try log.verify().problems == [])
        for call in [
            { _ = try log.appendBlocking([.sample(1)]) }, { try log.mergeIndex() },
            { _ = try log.recordReceipts([.sample(of: log.origin)]) },
        ] {
            let error = #expect(throws: LogError.self) { try call() }
            #expect(error?.code == .readOnly, "\(String(describing: error))")
        }
        try log.export(to: directory.file("media.tdx"))
        try log.backup(to: directory.file("media.mdb"))
        log.close()
    }

    @Test func openingReadOnlyDoesNotChangeTheFile() throws {
        let directory = try TemporaryDirectory()
        let source = try directory.store()
        try source.appendBlocking([.sample(1)])
        source.close()
        let path = directory.file("store/log.mdb")
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let log = try EventLog(
            opening: directory.file("store"), options: .init(isReadOnly: true))
        #expect(log.origin == source.origin)
        #expect(try log.allEvents().count == 1)
        log.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }
}
