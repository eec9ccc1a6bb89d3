import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// An on-demand projection costs nothing until its first use, and is kept up to date after that.
@Suite(.offTasks) struct OnDemandTests {
    /// An index of the readers by the text of their newest note.
    private struct NoteIndex: Projection {
        typealias State = ReaderNotes.State
        let name = "note-index"
        let version = 1
        let tagKind = "reader"
        let eventTypes = ReaderNotes().eventTypes
        let law = FoldLaw.any
        let tables = ["by-text"]
        let isOnDemand = true
        let rowsAreFollowed = false

        func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
            try ReaderNotes().fold(event, into: &key)
        }

        func rows(of state: State, key: TapedeckModel.Tag, into rows: inout RowSink) {
            rows.add(table: 0, key: RowKey().text(state.newest).text(key.name))
        }
    }

    private func makeStore() throws -> TestStore {
        let store = try TestStore([ReaderNotes(), NoteIndex()])
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "one"))
        return store
    }

    private func names(_ report: RebuildReport) -> [String] { report.projections.map(\.name) }

    private func texts(_ store: TestStore) throws -> [String] {
        try store.runner.read(["note-index"]) { views in
            try views.rows(
                of: NoteIndex(), table: 0, lower: nil, upper: nil, after: nil, limit: 10
            ).map { String(decoding: $0.key.prefix { $0 != 0 }, as: UTF8.self) }
        }
    }

    @Test func onDemandProjectionIsNotBuiltBeforeItsFirstUse() throws {
        let store = try makeStore()
        try store.touch()
        #expect(try names(store.runner.rebuild()) == ["reader-notes"])
        #expect(try names(store.runner.verify().report) == ["reader-notes"])
        let end = HistoryPoint.position(LogPosition(rawValue: 1))
        #expect(try names(store.runner.replay(until: end)) == ["reader-notes"])
        try store.runner.read(asOf: end) { _ in }
        let status = try store.runner.status()
        #expect(status.map(\.isBuilt) == [true, false])
        #expect(status.map(\.behind) == [0, 0])
        #expect(
            try store.log.viewsEntry(ProjectionDriver.fingerprint(of: NoteIndex())) == nil)
    }

    @Test func onDemandProjectionIsKeptUpToDateAfterItsFirstUse() throws {
        let store = try makeStore()
        #expect(try texts(store) == ["one"])
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "two"))
        // A read without names also folds the projection.
        try store.touch()
        let status = try store.runner.status()
        #expect(status.map(\.isBuilt) == [true, true])
        #expect(status.map(\.position) == [2, 2])
        try store.reopen()
        #expect(try names(store.runner.rebuild()) == ["reader-notes", "note-index"])
        try store.checkVerifies()
        #expect(try texts(store) == ["two"])
    }

    @Test func rebuildByNameBuildsAnOnDemandProjection() throws {
        let store = try makeStore()
        #expect(try names(store.runner.rebuild(["note-index"])) == ["note-index"])
        #expect(try store.runner.status().map(\.isBuilt) == [true, true])
    }

    @Test func preparingReportsItsProgress() throws {
        let store = try makeStore()
        let phases = Mutex<Set<String>>([])
        let options = RebuildOptions(progress: { progress in
            phases.withLock { _ = $0.insert(progress.phase) }
        })
        try store.runner.prepare(options: options)
        #expect(phases.withLock { $0 }.isEmpty, "all other projections are built already")
        try store.runner.prepare(["note-index"], options: options)
        #expect(phases.withLock { $0 } == ["scan", "fold", "load"])
        #expect(try texts(store) == ["one"])
    }

    @Test func commitsReportNoChangesToRowsThatAreNotFollowed() throws {
        let store = try makeStore()
        _ = try store.runner.rebuild(["reader-notes", "note-index"])
        let ring = DiffRing(try store.file())
        let before = try store.file().environment.read { try ring.last($0) }
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "two"))
        try store.touch()
        #expect(try texts(store) == ["two"])
        let batches = try store.file().environment.read { try ring.batches(after: before, $0) }
        let told = Set((batches ?? []).flatMap(\.batch.entries).map(\.projection))
        #expect(told == [ProjectionDriver.fingerprint(of: ReaderNotes()).high])
    }
}
