import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import Testing

@testable import TapedeckProjections

/// Which files lie in a store's directory, and which are removed.
@Suite struct ViewsFilesTests {
    private func loan(_ number: Int) throws -> [ProposedEvent] {
        [try ProposedEvent(LoanStarted(isbn: "\(number % 7)", reader: "r"))]
    }

    private func count(_ runner: ProjectionRunner) throws -> UInt64? {
        try runner.read { try $0.state(of: ReaderHistory(), key: Tag("reader", "r"))?.count }
    }

    @Test func filesOfARebuildThatWasKilledAreRemovedByTheNext() throws {
        let store = try TestStore()
        try store.log.appendBlocking(try loan(0))
        try store.touch()
        let left = [
            "views-77.mdb", "views-77.mdb-lock", "views-77.mdb.run0", "views-77.mdb.run12",
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

    @Test func aRebuildLeavesTheScratchOfAVerificationAlone() throws {
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

    @Test func aRebuildOfSomeLeavesTheOthersWhereTheyAre() throws {
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

    @Test func anUnknownNameIsRefused() throws {
        let store = try TestStore()
        #expect(throws: ProjectionError.self) { try store.runner.rebuild(["no-such"]) }
        #expect(throws: ProjectionError.self) { try store.runner.read(["no-such"]) { _ in } }
        let none = try store.runner.rebuild([])
        #expect(none.projections.isEmpty)
    }
}
