import Foundation
import Synchronization
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// One file serves several runners, versions and threads, and grows while they use it.
@Suite(.offTasks) struct SharingTests {
    private func note(_ number: Int) throws -> [ProposedEvent] {
        [try ProposedEvent(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))]
    }

    /// LMDB breaks if a process opens a file twice, so two runners must share one environment.
    @Test func twoRunnersOfOneLogShareTheFile() throws {
        let store = try TestStore()
        let other = ProjectionRunner(store.log, projections: [ReaderNotes(), BookHistory()])
        try other.read { _ in }
        let mine = try store.file()
        let theirs = try #require(try other.serving(other.drivers)?.first?.file)
        #expect(mine.environment === theirs.environment)
        let (log, runner) = (store.log, store.runner)
        try finishes {
            try Threads.run(4) { thread in
                for number in 0..<30 {
                    if thread == 0 { try log.appendBlocking(try self.note(number)) }
                    try (thread % 2 == 0 ? runner : other).read { _ in }
                }
            }
        }
        try store.checkVerifies()
        other.close()
        try log.appendBlocking(try note(30))
        try store.checkVerifies("the other runner has closed the file")
        let notes = try store.runner.read {
            try $0.state(of: ReaderNotes(), key: Tag("reader", "r"))?.notes
        }
        #expect(notes == 31)
    }

    @Test func versionsOfAProjectionAreServedSideBySide() throws {
        let store = try TestStore([BookHistory(), BookHistory(version: 2)])
        try store.log.appendBlocking(try note(0))
        let states = try store.runner.read { views in
            try [1, 2].map {
                try views.state(of: BookHistory(version: $0), key: Tag("book", "1"))?.count
            }
        }
        #expect(states == [1, 1])
        try store.checkVerifies()
        try store.reopen(projections: [BookHistory(version: 3), BookHistory(version: 2)])
        try store.log.appendBlocking(try note(1))
        try store.checkVerifies()
        try store.reopen(projections: [BookHistory()])
        try store.checkVerifies("the old version is still there")
        let count = try store.runner.read {
            try $0.state(of: BookHistory(), key: Tag("book", "1"))?.count
        }
        #expect(count == 2)
        #expect(throws: ProjectionError.self) {
            try store.runner.read {
                try $0.state(of: BookHistory(version: 2), key: Tag("book", "1"))
            }
        }
    }

    @Test func projectionGivenTwiceIsServedOnce() throws {
        let store = try TestStore([BookHistory(), CardCatalogue(), BookHistory()])
        try store.log.appendBlocking(try note(0))
        #expect(try store.runner.rebuild().projections.map(\.name) == ["history", "cards"])
        try store.checkVerifies()
    }

    /// The map of the views fills up during a fold: the fold is undone, the map grows, and the fold
    /// starts again without folding anything twice.
    @Test func viewsCanGrowDuringAFold() throws {
        let store = try TestStore()
        let path = store.log.directory.views(1)
        store.runner.close()
        let small = try ViewsFile(
            path: path, number: 1, projections: [], creating: false, mapSizeBytes: 1 << 16)
        try store.reopen(settled: false)
        try store.touch()
        #expect(try store.file().environment === small.environment)
        let before = small.environment.facts().mapSizeBytes
        var random = SeededGenerator(1)
        let history = try HistoryGenerator(events: 600).generate(&random)
        var rest = history.arrival(&random)[...]
        while !rest.isEmpty {
            try store.log.record(Array(rest.prefix(97)))
            rest = rest.dropFirst(97)
            try store.touch()
        }
        try store.checkVerifies()
        #expect(small.environment.facts().mapSizeBytes > before)
        small.close()
    }

    @Test func logCanGrowDuringARebuild() throws {
        let directory = TestStore.emptyDirectory()
        defer { TestStore.remove(directory) }
        let log = try EventLog.create(directory, options: EventLog.Options(mapSizeBytes: 1 << 19))
        let runner = ProjectionRunner(log, projections: LibraryProjections.all)
        defer {
            runner.close()
            log.close()
        }
        for start in stride(from: 0, to: 3_000, by: 500) {
            try log.appendBlocking(
                try (start..<start + 500).map {
                    try ProposedEvent(BookMoved(isbn: "\($0 % 50)", from: "a", to: "\($0 % 7)"))
                })
        }
        let appended = Atomic(3_000)
        let report = try runner.rebuild(
            options: RebuildOptions(
                workers: 2,
                progress: { _ in
                    let number = appended.add(1, ordering: .relaxed).oldValue
                    let event = BookMoved(
                        isbn: String(repeating: "\(number)", count: 60), from: "a",
                        to: String(repeating: "b", count: 380))
                    do {
                        try log.appendBlocking(
                            [ProposedEvent](repeating: try ProposedEvent(event), count: 40))
                    } catch {
                        Issue.record(error)
                    }
                }))
        #expect(report.events == 3_000)
        let moves = try runner.read {
            try $0.state(of: ShelfCounts(), key: Tag("shelf", "a"))?.moves
        }
        #expect(moves == UInt64(3_000 + (appended.load(ordering: .relaxed) - 3_000) * 40))
        #expect(try runner.verify().differences.isEmpty)
    }

    // MARK: - Limits

    @Test func itemNamesOfAnyLengthStayDistinct() throws {
        let store = try TestStore([LongItems()])
        let names = [199, 200, 201, 202, 300].map { String(repeating: "n", count: $0) }
        for name in names + names {
            try store.append(
                NoteAdded(isbn: String(repeating: "k", count: 390), reader: "r", text: name))
        }
        try store.checkVerifies()
        let key = try Tag("book", String(repeating: "k", count: 390))
        for name in names {
            let item = try store.runner.read {
                try $0.item(of: LongItems(), key: key, name: RowKey().raw(name.utf8))
            }
            #expect(item == Array("2".utf8))
        }
    }

    @Test func projectionOfVeryManyTypesIsRouted() throws {
        let store = try TestStore([ManyTypes()])
        try store.log.appendBlocking(
            [0, 127, 128, 255, 299].map {
                ProposedEvent(
                    type: ManyTypes.type($0), tags: [Tag(unchecked: "book/1")], payload: [])
            })
        let state = try store.runner.read { try $0.state(of: ManyTypes(), key: Tag("book", "1")) }
        #expect(state?.last == "299")
        #expect(state?.count == 5)
        try store.checkVerifies()
    }

    @Test func usingViewsAfterTheReadHasEndedIsRefused() throws {
        let store = try TestStore()
        let kept = try store.runner.read { $0 }
        let error = #expect(throws: ProjectionError.self) {
            try kept.state(of: BookHistory(), key: Tag("book", "1"))
        }
        #expect(error?.code == .closed)
    }
}

/// Counts the notes by text, in one item for each text.
private struct LongItems: Projection {
    let name = "long-items"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) throws {
        let name = RowKey().raw(try event.decode(NoteAdded.self).text.utf8)
        let before = key.item(name).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        key.removeItem(name)
        key.setItem(name, Array(String(before + 1).utf8))
    }
}

private struct ManyTypes: Projection {
    let name = "many-types"
    let version = 1
    let tagKind = "book"
    let eventTypes = (0..<300).map(ManyTypes.type)

    static func type(_ number: Int) -> EventType { EventType(stringLiteral: "Type\(number)") }

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) {
        key.state.add(event)
        key.state.last = "\(event.typeIndex)"
    }
}
