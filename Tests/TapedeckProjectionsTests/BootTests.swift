import Foundation
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Views files are reused after a restart if they are sound, and rebuilt if not.
@Suite(.offTasks) struct BootTests {
    private let fingerprint = ProjectionDriver.fingerprint(of: BookHistory())

    private func filledStore() throws -> TestStore {
        let store = try TestStore()
        var random = SeededGenerator(11)
        try store.log.record(try HistoryGenerator(events: 150).generate(&random).arrival(&random))
        try store.touch()
        return store
    }

    private func entry(_ store: TestStore, _ projection: some Projection = BookHistory()) throws
        -> ViewsEntry
    {
        try #require(try store.log.viewsEntry(ProjectionDriver.fingerprint(of: projection)))
    }

    private func allEntries(_ store: TestStore) throws -> Set<ViewsEntry> {
        Set(
            try LibraryProjections.all.map { projection in
                try #require(
                    try store.log.viewsEntry(ProjectionDriver.fingerprint(of: projection)))
            })
    }

    @Test func fileIsReusedAfterACleanClose() throws {
        let store = try filledStore()
        #expect(try entry(store) == ViewsEntry(number: 1, boot: StoreDirectory.bootID))
        let digests = try store.liveDigests()
        try store.reopen()
        #expect(try allEntries(store) == [ViewsEntry(number: 1, boot: "")])
        #expect(try store.liveDigests() == digests)
        #expect(try entry(store).number == 1)
    }

    @Test func fileOfACrashedProcessIsReusedInTheSameBoot() throws {
        let store = try filledStore()
        let digests = try store.liveDigests()
        try store.reopen(settled: false)
        #expect(try entry(store) == ViewsEntry(number: 1, boot: StoreDirectory.bootID))
        #expect(try store.liveDigests() == digests)
        #expect(try entry(store).number == 1)
    }

    @Test func unsyncedFileIsRebuiltAfterAnotherBoot() throws {
        let store = try filledStore()
        let digests = try store.liveDigests()
        try store.reopen(settled: false)
        try store.log.setViews(
            ViewsEntry(number: 1, boot: "another-boot"),
            for: LibraryProjections.all.map { ProjectionDriver.fingerprint(of: $0) })
        // Contents that survived the power loss are not read.
        try Data(repeating: 0xA5, count: 100_000).write(
            to: URL(fileURLWithPath: store.log.directory.views(1)))
        #expect(try store.liveDigests() == digests)
        #expect(try entry(store) == ViewsEntry(number: 2, boot: StoreDirectory.bootID))
        #expect(try store.viewsFiles() == ["views-2.mdb", "views-2.mdb-lock"])
    }

    /// All projections share the file, so a write for one projection makes the file unsynced for
    /// all of them.
    @Test func writeForOneProjectionMarksTheFileUnsyncedForAll() throws {
        let store = try filledStore()
        try store.reopen()
        try store.append(LoanStarted(isbn: "isbn-1", reader: "r"))
        try store.touch(["history"])
        #expect(
            try allEntries(store) == [ViewsEntry(number: 1, boot: StoreDirectory.bootID)])
        // A program that knows only one projection syncs the entire file and closes it.
        try store.reopen(settled: false, projections: [BookHistory()])
        try store.touch()
        try store.reopen()
        #expect(try allEntries(store) == [ViewsEntry(number: 1, boot: "")])
        try store.append(LoanEnded(isbn: "isbn-1", reader: "r"))
        try store.reopen(projections: [CardCatalogue()])
        try store.touch()
        #expect(
            try allEntries(store) == [ViewsEntry(number: 1, boot: StoreDirectory.bootID)])
    }

    @Test func readingDoesNotMarkTheFile() throws {
        let store = try filledStore()
        try store.reopen()
        try store.touch()
        try store.checkVerifies()
        #expect(try allEntries(store) == [ViewsEntry(number: 1, boot: "")])
    }

    // MARK: - Damage

    enum Damage: String, CaseIterable, CustomTestStringConvertible {
        case missing, empty, oneByte, cutHeader, cutHalf, cutLastPage, zeros, garbage, text
        case anotherFile, directory, noLockFile

        var testDescription: String { rawValue }
    }

    @Test(arguments: Damage.allCases) func damagedFileIsRebuilt(_ damage: Damage) throws {
        let store = try filledStore()
        let digests = try store.liveDigests()
        let path = store.log.directory.views(1)
        store.runner.close()
        try inflict(damage, path)
        try store.reopen()
        try finishes { [runner = store.runner] in try runner.read { _ in } }
        #expect(try store.liveDigests() == digests)
        try store.checkVerifies()
        try store.append(LoanStarted(isbn: "isbn-1", reader: "reader-1"))
        try store.checkVerifies()
    }

    private func inflict(_ damage: Damage, _ path: String) throws {
        let place = URL(fileURLWithPath: path)
        let bytes = try Data(contentsOf: place)
        switch damage {
        case .missing: try FileManager.default.removeItem(at: place)
        case .empty: try Data().write(to: place)
        case .oneByte: try bytes.prefix(1).write(to: place)
        case .cutHeader: try bytes.prefix(4_000).write(to: place)
        case .cutHalf: try bytes.prefix(bytes.count / 2).write(to: place)
        case .cutLastPage: try bytes.prefix(bytes.count - 4_096).write(to: place)
        case .zeros: try Data(count: bytes.count).write(to: place)
        case .garbage:
            var random = SeededGenerator(5)
            try Data((0..<bytes.count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
                .write(to: place)
        case .text: try Data("not a store\n".utf8).write(to: place)
        case .anotherFile:
            try FileManager.default.removeItem(at: place)
            let environment = try Environment(
                path: path, options: .init(tablesMax: 4, creates: true))
            _ = try environment.openTable("something-else")
            environment.close()
        case .directory:
            try FileManager.default.removeItem(at: place)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        case .noLockFile: try FileManager.default.removeItem(atPath: path + "-lock")
        }
    }

    /// An invalid row is found when an event is folded into it, and the file is rebuilt.
    @Test func damagedRowIsFoundWhenItIsUsed() throws {
        let store = try filledStore()
        store.runner.close()
        let file = try ViewsFile(
            path: store.log.directory.views(1), number: 1, projections: [fingerprint],
            creating: false)
        let tables = try #require(file.tables[fingerprint])
        try file.environment.write {
            try $0.put(tables.states, ViewKey(try Tag("book", "isbn-1")).bytes, [0])
        }
        file.close()
        try store.reopen()
        try store.append(LoanStarted(isbn: "isbn-1", reader: "reader-1"))
        try store.touch()
        #expect(try entry(store).number == 2)
        try store.checkVerifies()
    }

    /// The log was replaced by an older copy of itself, so the views contain events that the log no
    /// longer contains.
    @Test func fileAheadOfItsLogIsRebuilt() throws {
        let store = try TestStore()
        try store.append(LoanStarted(isbn: "1", reader: "r"))
        try store.touch()
        try store.reopen()
        let (log, kept) = (store.log.directory.log, store.directory + "/kept")
        store.runner.close()
        store.log.close()
        try FileManager.default.copyItem(atPath: log, toPath: kept)
        try store.reopen(settled: false)
        try store.append(LoanEnded(isbn: "1", reader: "r"), LoanStarted(isbn: "2", reader: "s"))
        try store.touch()
        store.runner.close()
        store.log.close()
        try FileManager.default.removeItem(atPath: log)
        try FileManager.default.moveItem(atPath: kept, toPath: log)
        try store.reopen(settled: false)
        try store.checkVerifies("an older log")
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "a"))
        try store.checkVerifies("after further events")
    }
}
