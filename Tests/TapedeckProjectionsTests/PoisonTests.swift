import Synchronization
import TapedeckLog
import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

/// An event that a fold refuses freezes one key of one projection, and nothing else.
@Suite(.offTasks) struct PoisonTests {
    private let early = OriginID(high: 1, low: 1)
    private let late = OriginID(high: 2, low: 2)

    private func note(
        _ origin: OriginID, _ at: UInt64, isPoison: Bool = false, book: String = "1"
    ) throws -> HistoryEvent {
        HistoryEvent(
            origin: origin, stamp: Stamp(milliseconds: at),
            proposal: try ProposedEvent(
                NoteAdded(
                    isbn: book, reader: "reader of \(book)",
                    text: (isPoison ? PoisonedNotes.word : "note") + " at \(at)"),
                atMilliseconds: at))
    }

    private func count(_ store: TestStore, _ book: String = "1") throws -> UInt64? {
        try store.runner.read {
            try $0.state(of: PoisonedNotes(), key: Tag("book", book))?.count
        }
    }

    @Test(arguments: [[0], [99], [50], [0, 99], Array(stride(from: 0, to: 100, by: 7))])
    func firstPoisonFreezesItsKeyAndNoOther(places: [Int]) throws {
        let store = try TestStore()
        for place in 0..<100 {
            try store.log.record([
                try note(early, 1_000 + UInt64(place), isPoison: places.contains(place)),
                try note(early, 1_000 + UInt64(place), book: "2"),
            ])
            if place % 9 == 0 { try store.touch() }
        }
        #expect(try count(store) == UInt64(places[0]))
        #expect(try count(store, "2") == 100)
        let frozen = try store.runner.frozenKeys()
        #expect(frozen.map(\.projection) == ["poisoned", "poisoned-items"])
        #expect(frozen.map(\.key) == ["book/1", "reader/reader of 1"])
        let event = EventID(origin: early, sequence: UInt64(2 * places[0] + 1))
        for key in frozen {
            #expect(key.event == event.description)
            #expect(key.position == UInt64(2 * places[0] + 1))
            #expect(key.reason == "\(PoisonedNotes.word) at \(1_000 + places[0]) is poison")
        }
        #expect(try store.runner.status().filter { $0.frozen > 0 }.count == 2)
        try store.checkVerifies()
        let report = try store.runner.rebuild(options: RebuildOptions(workers: 2))
        #expect(Set(report.frozen) == Set(frozen))
        #expect(try store.runner.frozenKeys() == frozen)
        let history = try store.runner.read {
            try $0.state(of: BookHistory(), key: Tag("book", "1"))
        }
        #expect(history?.count == 100, "other projections fold the same event")
    }

    @Test func lateEventBeforeThePoisonIsFolded() throws {
        let store = try TestStore()
        for place in 0..<200 {
            try store.log.record([
                try note(early, 1_000 + UInt64(place) * 10, isPoison: place == 150)
            ])
        }
        #expect(try count(store) == 150)
        try store.log.record([try note(late, 1_005)])
        #expect(try count(store) == 151)
        try store.checkVerifies("before")
        try store.log.record([try note(late, 1_000 + 1_999)])
        #expect(try count(store) == 151)
        try store.checkVerifies("after")
        try store.log.record([try note(late, 1_007, isPoison: true)])
        #expect(try count(store) == 2, "an earlier poison freezes it earlier")
        try store.checkVerifies("an earlier poison")
        #expect(try store.runner.frozenKeys().map(\.position) == [203, 203])
    }

    @Test func refusingThePoisonUnfreezesTheKey() throws {
        let store = try TestStore()
        for place in 0..<20 {
            try store.log.record([try note(early, 1_000 + UInt64(place), isPoison: place == 10)])
        }
        #expect(try count(store) == 10)
        try store.log.recordReceipts([
            Receipt(
                event: EventID(origin: early, sequence: 11), lineage: LineageID(high: 1, low: 1),
                serverPosition: 1, receivedAt: Stamp(milliseconds: 9_000), outcome: .refused(.fork))
        ])
        #expect(try count(store) == 19)
        #expect(try store.runner.frozenKeys().isEmpty)
        try store.checkVerifies()
    }

    @Test func poisonedFoldKeepsTheEarlierItems() throws {
        let store = try TestStore()
        try store.log.record([
            try note(early, 1_000), try note(early, 1_001), try note(early, 1_002, isPoison: true),
        ])
        for round in 0..<2 {
            let (state, items) = try store.runner.read { views in
                let key = try Tag("reader", "reader of 1")
                return (
                    try views.state(of: PoisonedItems(), key: key),
                    try views.items(
                        of: PoisonedItems(), key: key, prefix: RowKey(), after: nil, limit: 10)
                )
            }
            #expect(state?.notes == 2, "round \(round)")
            #expect(items.count == 2, "round \(round)")
            _ = try store.runner.rebuild()
        }
    }

    /// A permanently frozen key must not be folded from its beginning for each new event.
    @Test func eventsAfterThePoisonAreNotFolded() throws {
        let store = try TestStore([CountingFolds()])
        for place in 0..<100 {
            try store.log.record([try note(early, 1_000 + UInt64(place), isPoison: place == 60)])
        }
        try store.touch()
        CountingFolds.count.store(0, ordering: .relaxed)
        for place in 100..<130 {
            try store.log.record([try note(early, 1_000 + UInt64(place))])
            try store.touch()
        }
        #expect(CountingFolds.count.load(ordering: .relaxed) == 0)
        try store.log.record([try note(late, 1_030)])
        try store.touch()
        #expect(CountingFolds.count.load(ordering: .relaxed) > 0)
        try store.checkVerifies()
        #expect(try store.runner.frozenKeys().map(\.position) == [61])
    }

    @Test func frozenKeysSurviveReopening() throws {
        let store = try TestStore()
        try store.log.record([try note(early, 1_000), try note(early, 1_001, isPoison: true)])
        try store.touch()
        let frozen = try store.runner.frozenKeys()
        #expect(frozen.count == 2)
        try store.reopen()
        #expect(try store.runner.frozenKeys() == frozen)
    }
}

/// Counts the calls of its fold, which a real projection must not do.
private struct CountingFolds: Projection {
    static let count = Atomic(0)

    let name = "counting"
    let version = 1
    let tagKind = "book"
    let eventTypes = [NoteAdded.eventType]

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<ChainState>) throws {
        CountingFolds.count.add(1, ordering: .relaxed)
        try PoisonedNotes().fold(event, into: &key)
    }
}
