import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

/// The state of projections at a point in the past, regardless of how it is computed.
@Suite(.offTasks) struct AsOfTests {
    @Test func foldingKeysOnDemandEqualsReadingTables() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try HistoryGenerator(events: 300, originCount: 3, books: 4, readers: 3)
            .generate(&random)
        let store = try TestStore(isLive: false)
        try store.log.record(history.arrival(&random))
        try store.log.recordReceipts(history.receipts)
        let check = KeyCheck(
            log: store.log, projections: LibraryProjections.all, note: "\(seed)")
        for point in [nil, HistoryPoint.position(LogPosition(rawValue: 150))] {
            try check.checkViewsReadAlike(asOf: point, rounds: 20, &random)
        }
    }

    /// A position that the log has not reached is refused, because it would silently show the
    /// present; a time in the future is allowed.
    @Test func positionsAfterTheEndOfTheLogAreRefused() throws {
        let store = try TestStore([ReaderNotes()], isLive: false)
        try store.append(NoteAdded(isbn: "1", reader: "ada", text: "word"))
        let key = try TapedeckModel.Tag("reader", "ada")
        let next = HistoryPoint.position(LogPosition(rawValue: 2))
        for refused in [
            { _ = try store.runner.read(asOf: next) { _ in } },
            { _ = try store.runner.explain("reader-notes", key: key, asOf: next) },
            { _ = try store.runner.replay(until: next) },
        ] {
            let error = #expect(throws: ProjectionError.self) { try refused() }
            #expect(error?.code == .usage)
            #expect(error?.message.contains("the log ends at position 1") == true)
        }
        let future = HistoryPoint.time(milliseconds: Stamp.millisecondsMax)
        #expect(try store.runner.replay(until: future).events == 1)
    }

    /// A list with very many keys is built as a whole; a reader that ignores errors gets the same
    /// result.
    @Test func listOfVeryManyKeysIsBuiltAsAWhole() throws {
        let readers = ReaderNotes()
        let store = try TestStore([readers], isLive: false)
        let count = 33_000
        for start in stride(from: 0, to: count, by: 1_000) {
            try store.log.appendBlocking(
                try (start..<start + 1_000).map {
                    try ProposedEvent(NoteAdded(isbn: "b", reader: "r\($0)", text: "n"))
                })
        }
        var runs = 0
        let point = HistoryPoint.position(LogPosition(rawValue: UInt64(count - 1)))
        let found = try store.runner.read(asOf: point) { views -> [Row] in
            runs += 1
            let rows = try? views.rows(
                of: readers, table: 0, lower: nil, upper: nil, after: nil, limit: 3)
            return rows ?? []
        }
        #expect(runs == 2 && found.count == 3)
        // A single key of the list is folded separately.
        let key = try TapedeckModel.Tag("reader", "r\(count - 1)")
        let state = try store.runner.read(asOf: point) { views in
            runs += 1
            return try views.state(of: readers, key: key)
        }
        #expect(runs == 3 && state == nil)
        #expect(try store.viewsFiles().isEmpty)
    }
}
