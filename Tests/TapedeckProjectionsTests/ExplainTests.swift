import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

/// Explanations of a key: the events that decided its state, and the events that lost.
@Suite(.offTasks) struct ExplainTests {
    @Test func keysFoldedAloneMatchAReplay() throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try store(events: 250, &random)
        let head = try store.log.currentHead().rawValue
        let points: [HistoryPoint?] = [
            nil, .position(LogPosition(rawValue: UInt64.random(in: 1...head, using: &random))),
            .position(.start),
            .time(milliseconds: 1_700_000_000_000 + UInt64(random.number(below: 110_000))),
        ]
        try KeyCheck(log: store.log, projections: LibraryProjections.all, note: "\(seed)")
            .checkKeysFoldedAlone(asOf: points)
    }

    @Test func explainedRolesOfEventsAreCorrect() throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try store(events: 120, &random)
        let met = try KeyCheck(log: store.log, projections: LibraryProjections.all, note: "\(seed)")
            .checkExplanations(keysPerProjection: 2, eventsPerRole: 3, &random)
        for role in [EventRole.deciding, .lost, .refused] {
            #expect(met[role, default: 0] > 0, "no event is \(role), \(seed)")
        }
    }

    /// The key has more events than `explain` examines; the earlier events are folded first, and
    /// only once.
    @Test func keyWithVeryManyEventsIsExaminedInPart() throws {
        let store = try TestStore([LastWord(), ReaderNotes()], isLive: false)
        for number in 0..<300 {
            try store.append(NoteAdded(isbn: "1", reader: "ada", text: "note \(number)"))
        }
        for (name, key) in [("last-word", "book/1"), ("reader-notes", "reader/ada")] {
            let told = try store.runner.explain(name, key: TapedeckModel.Tag(key), events: 20)
            #expect(told.unexamined == 280 && told.events.count == 20)
            #expect(told.events.map(\.position) == Array(281...300))
            #expect(told.events.last?.role == .deciding)
        }
    }

    @Test func excludedEventsHaveNoEffect() throws {
        let store = try TestStore([LastWord()], isLive: false)
        try store.append(NoteAdded(isbn: "1", reader: "ada", text: "first"))
        try store.append(NoteAdded(isbn: "1", reader: "ada", text: "second"))
        let key = try TapedeckModel.Tag("book", "1")
        let now = try store.runner.explain("last-word", key: key)
        #expect(now.events.map(\.role) == [.lost, .deciding])
        let last = try #require(now.events.last.flatMap { EventID($0.event) })
        let without = try store.runner.explain("last-word", key: key, without: [last])
        let before = try store.runner.explain(
            "last-word", key: key, asOf: .position(LogPosition(rawValue: 1)))
        #expect(without == before)
        #expect(without.events.map(\.role) == [.deciding])
        #expect(now.state == [StateField(name: "word", value: "second")])
        #expect(without.state == [StateField(name: "word", value: "first")])
        #expect(now.rule == "The last note determines the word.")
    }

    /// If one of the two equal events is left out, the other one yields the same state.
    ///
    /// The first event is overridden in either case.
    @Test func eventsWithTheSameEffectSupportEachOther() throws {
        let store = try TestStore([LastWord()], isLive: false)
        for text in ["first", "same", "same"] {
            try store.append(NoteAdded(isbn: "1", reader: "ada", text: text))
        }
        let told = try store.runner.explain("last-word", key: TapedeckModel.Tag("book", "1"))
        #expect(told.events.map(\.role) == [.lost, .supporting, .supporting])
    }

    @Test func roleOfAnEventIsReportedPerProjection() throws {
        let store = try TestStore([LastWord(), ReaderNotes()], isLive: false)
        try store.append(NoteAdded(isbn: "1", reader: "ada", text: "first"))
        try store.append(NoteAdded(isbn: "1", reader: "ada", text: "second"))
        let first = EventID(origin: store.log.origin, sequence: 1)
        let parts = try store.runner.parts(of: first)
        #expect(parts.first { $0.projection == "last-word" }?.role == .lost)
        #expect(parts.first { $0.projection == "reader-notes" }?.role == .deciding)
    }

    @Test func invalidRequestsForExplanationsAreRefused() throws {
        let store = try TestStore([LastWord()], isLive: false)
        let book = try TapedeckModel.Tag("book", "1")
        let unknown = EventID(origin: store.log.origin, sequence: 9)
        for (code, explain) in [
            (ErrorCode.notFound, { try store.runner.explain("no-such", key: book) }),
            (.notFound, { try store.runner.explain("last-word", key: book, without: [unknown]) }),
            (
                .usage,
                { try store.runner.explain("last-word", key: TapedeckModel.Tag("reader", "ada")) }
            ),
            (.usage, { try store.runner.explain("last-word", key: book, events: 0) }),
        ] as [(ErrorCode, () throws -> KeyExplanation)] {
            let error = #expect(throws: ProjectionError.self) { _ = try explain() }
            #expect(error?.code == code)
        }
        let nothing = try store.runner.explain("last-word", key: book)
        #expect(nothing.state == nil && nothing.events.isEmpty)
    }

    private func store(events: Int, _ random: inout SeededGenerator) throws -> TestStore {
        let history = try HistoryGenerator(
            events: events, originCount: 3, books: 4, readers: 3, shelves: 3
        ).generate(&random)
        let store = try TestStore(isLive: false)
        try store.log.record(history.arrival(&random))
        try store.log.recordReceipts(history.receipts)
        return store
    }
}

/// Keeps the text of the last note of each book.
private struct LastWord: Projection {
    struct State: ProjectionState {
        var word = ""
        init() {}
        init(decoding bytes: inout StateReader) throws { word = try bytes.string() }
        func encode(into bytes: inout StateWriter) { bytes.add(word) }
    }

    let name = "last-word"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]
    let ruleText: String? = "The last note determines the word."

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.word = try event.decode(NoteAdded.self).text
    }
}
