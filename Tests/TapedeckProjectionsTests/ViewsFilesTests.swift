import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// The files in a store's directory, and the removal of unused ones.
@Suite(.offTasks) struct ViewsFilesTests {
    private func loan(_ number: Int) throws -> [ProposedEvent] {
        [try ProposedEvent(LoanStarted(isbn: "\(number % 7)", reader: "r"))]
    }

    private func count(_ runner: ProjectionRunner) throws -> UInt64? {
        try runner.read { try $0.state(of: ReaderHistory(), key: Tag("reader", "r"))?.count }
    }

    @Test func nextRebuildRemovesFilesOfAKilledRebuild() throws {
        let store = try TestStore()
        try store.log.appendBlocking(try loan(0))
        try store.touch()
        let left = [
            "views-77.mdb", "views-77.mdb-lock", "views-77.mdb.run0", "views-77.mdb.run12",
            "views-77.mdb.entries", "views-2.mdb.entries", "scratch-5E5.mdb.entries",
            "scratch-5E5.mdb", "scratch-5E5.mdb-lock", "scratch-5E5.mdb.run1",
        ]
        for name in left {
            try Data("left".utf8).write(to: URL(fileURLWithPath: store.directory + "/" + name))
        }
        let mine = store.directory + "/views-notes.txt"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: mine))
        _ = try store.runner.rebuild()
        #expect(
            try store.viewsFiles() == ["views-2.mdb", "views-2.mdb-lock", "views-notes.txt"])
        try store.checkVerifies()
    }

    @Test func rebuildKeepsTheScratchFilesOfAVerification() throws {
        let store = try TestStore()
        for number in 0..<50 { try store.log.appendBlocking(try loan(number)) }
        let (runner, directory) = (store.runner, store.directory)
        let hasRebuilt = Atomic(false)
        let options = RebuildOptions(
            workers: 1,
            progress: { _ in
                guard !hasRebuilt.exchange(true, ordering: .relaxed) else { return }
                do {
                    try Threads.run(1) { _ in _ = try runner.rebuild() }
                    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                    #expect(names.contains { $0.hasPrefix("scratch-") && $0.hasSuffix(".mdb") })
                } catch {
                    Issue.record(error)
                }
            })
        #expect(try runner.verify(options: options).differences.isEmpty)
        #expect(try !store.viewsFiles().contains { $0.hasPrefix("scratch-") })
    }

    @Test func rebuildOfSomeProjectionsKeepsTheOthersInPlace() throws {
        let store = try TestStore()
        for number in 0..<50 { try store.log.appendBlocking(try loan(number)) }
        let digests = try store.liveDigests()
        _ = try store.runner.rebuild(["history", "cards"])
        #expect(try store.viewsFiles().filter { $0.hasSuffix(".mdb") }.count == 2)
        #expect(try store.liveDigests() == digests)
        try store.log.appendBlocking(try loan(50))
        #expect(try count(store.runner) == 51)
        try store.checkVerifies()
        try store.reopen()
        #expect(try count(store.runner) == 51)
        try store.checkVerifies()
        _ = try store.runner.rebuild()
        #expect(try store.viewsFiles().filter { $0.hasSuffix(".mdb") }.count == 1)
    }

    @Test func unknownNameIsRefused() throws {
        let store = try TestStore()
        #expect(throws: ProjectionError.self) { try store.runner.rebuild(["no-such"]) }
        #expect(throws: ProjectionError.self) { try store.runner.read(["no-such"]) { _ in } }
        let none = try store.runner.rebuild([])
        #expect(none.projections.isEmpty)
    }

    /// Returns a store whose projections have been read by two versions of a program, most recently
    /// by the newer version.
    private func storeOfTwoVersions() throws -> TestStore {
        let store = try TestStore([BookHistory(version: 1)])
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "a"))
        try store.touch()
        try store.reopen(projections: [BookHistory(version: 2)])
        try store.touch()
        return store
    }

    @Test func filesOfAnotherVersionAreListedAndPrunedOnRequest() throws {
        let before = UInt64(Date().timeIntervalSince1970 * 1_000) - 2_000
        let store = try storeOfTwoVersions()
        let digests = try store.liveDigests()
        let files = try store.runner.viewsFiles()
        #expect(files.map(\.name) == ["views-1.mdb", "views-2.mdb"])
        #expect(files.map(\.isOwn) == [false, true])
        #expect(files.map(\.isOpen) == [false, true])
        #expect(files.allSatisfy { $0.bytes > 0 && $0.usedAtMilliseconds > before })
        #expect(try store.runner.pruneViews().map(\.name) == ["views-1.mdb"])
        #expect(try store.viewsFiles() == ["views-2.mdb", "views-2.mdb-lock"])
        #expect(try store.liveDigests() == digests)
        #expect(try store.runner.pruneViews() == [])
        // The older version builds its own file again.
        try store.reopen(projections: [BookHistory(version: 1)])
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "b"))
        try store.checkVerifies()
    }

    @Test func openFilesAreNotPruned() async throws {
        let store = try storeOfTwoVersions()
        let other = ProjectionRunner(store.log, projections: [BookHistory(version: 1)])
        try blocking { try other.read { _ in } }
        #expect(try blocking { try store.runner.pruneViews() } == [])
        // Another process detects from the lock that the file is open.
        await #expect(processExitsWith: .success) { [directory = store.directory as String] in
            try ViewsFilesTests.checkNothingIsPruned(directory)
        }
        other.close()
        #expect(try blocking { try store.runner.pruneViews() }.map(\.name) == ["views-1.mdb"])
    }

    private static func checkNothingIsPruned(_ directory: String) throws {
        let log = try EventLog(opening: directory)
        let runner = ProjectionRunner(log, projections: [BookHistory(version: 2)])
        guard try runner.viewsFiles().map(\.isOpen) == [true, true], try runner.pruneViews() == []
        else { throw PoisonError(description: "a file that another process has open was pruned") }
    }
}
