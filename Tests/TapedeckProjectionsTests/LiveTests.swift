import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Live tables equal a fresh rebuild after every batch.
@Suite(.offTasks) struct LiveTests {
    @Test func liveTablesEqualARebuildAfterEveryBatch() throws {
        let seed = Seed()
        var random = seed.generator()
        let history = try HistoryGenerator(events: 400, books: 6).generate(&random)
        let store = try TestStore()
        var rest = history.arrival(&random)[...]
        while !rest.isEmpty {
            let batch = rest.prefix(1 + random.number(below: 30))
            rest = rest.dropFirst(batch.count)
            try store.log.record(Array(batch))
            try store.checkVerifies("\(seed), \(rest.count) events left")
        }
        try store.log.recordReceipts(history.receipts)
        try store.checkVerifies("\(seed), receipts")
    }

    @Test func batchOfReceiptsRefoldsEveryAffectedKey() throws {
        let store = try TestStore()
        var random = SeededGenerator(1)
        let history = try HistoryGenerator(events: 500).generate(&random)
        try store.log.record(history.arrival(&random))
        try store.touch()
        for start in stride(from: 0, to: history.receipts.count, by: 40) {
            try store.log.recordReceipts(Array(history.receipts[start...].prefix(40)))
            try store.checkVerifies("receipts from \(start) on")
        }
    }

    /// There are more receipts than one transaction processes.
    @Test func veryManyReceiptsAreProcessedInBatches() throws {
        let store = try TestStore([BookHistory(), ShelfCounts()])
        let origin = OriginID(high: 1, low: 1)
        let count = UInt64(FoldBatch.overridesMax + 300)
        try store.log.record(
            try (1...count).map { number in
                HistoryEvent(
                    origin: origin, stamp: Stamp(milliseconds: 100_000 + number),
                    proposal: try ProposedEvent(
                        BookMoved(isbn: "\(number % 40)", from: "a", to: "b"),
                        atMilliseconds: 100_000 + number))
            })
        try store.touch()
        try store.log.recordReceipts(
            (1...count).map { number in
                Receipt(
                    event: EventID(origin: origin, sequence: number),
                    lineage: LineageID(high: 1, low: 1), serverPosition: number,
                    receivedAt: Stamp(milliseconds: 90_000 - number),
                    outcome: number % 10 == 0 ? .refused(.fork) : .accepted)
            })
        try store.checkVerifies()
        let moves = try store.runner.read {
            try $0.state(of: ShelfCounts(), key: Tag("shelf", "a"))
        }
        #expect(moves?.moves == count - count / 10)
    }

    /// There are enough events for several processors to share: a few keys with many events, and
    /// many keys with a few events.
    @Test func largeBatchEqualsARebuild() throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try TestStore()
        for (events, books) in [(3_000, 500), (3_000, 20), (200, 5)] {
            let history = try HistoryGenerator(events: events, books: books).generate(&random)
            try store.log.record(history.arrival(&random))
            try store.checkVerifies("\(seed), \(events) events")
            try store.log.recordReceipts(history.receipts)
            try store.checkVerifies("\(seed), \(history.receipts.count) receipts")
        }
    }

    /// Another process folds other projections of the file at the same time, or has already folded
    /// the same events.
    @Test func largeBatchIsFoldedOnceDespiteConcurrentFolds() throws {
        let seed = Seed()
        var random = seed.generator()
        let store = try TestStore()
        let drivers = store.runner.drivers
        try store.log.record(
            try HistoryGenerator(events: 2_000, books: 200).generate(&random).arrival(&random))
        let file = try store.file()
        let catchUp = CatchUp(
            log: store.log, file: file, routing: try Routing(drivers, store.log))
        let (from, commit) = try file.environment.read { views in
            (try #require(try file.checkpoint(drivers[0].fingerprint, views)), views.number)
        }
        let overrides = try OverrideTable(store.log)
        let batch = try store.log.readNaming { records in
            try FoldBatch(
                store.log, file, from: from, through: 2_000, catchUp.routing,
                EventAdmission(overrides, origins: catchUp.routing.origins), records)
        }
        try file.environment.write { try DiffRing(file).appendReset($0) }
        #expect(try catchUp.run(batch, from: from, behind: commit) { _ in }, "\(seed)")
        try store.checkVerifies("\(seed)")
        #expect(try !catchUp.run(batch, from: from, behind: commit) { _ in }, "\(seed)")
        try store.checkVerifies("\(seed)")
    }

    /// There are more bytes than one batch copies out of the log.
    @Test func largeEventsAreFoldedInBatches() throws {
        let store = try TestStore([BookHistory(), ReaderNotes()])
        let text = String(repeating: "n", count: 200_000)
        // Append a few events at a time, so that only the fold has all events in memory.
        let count = FoldBatch.bytesMax / 200_000 + 15
        for start in stride(from: 0, to: count, by: 20) {
            try store.log.appendBlocking(
                try (start..<min(start + 20, count)).map {
                    try ProposedEvent(
                        NoteAdded(isbn: "\($0 % 7)", reader: "r\($0 % 3)", text: text))
                })
        }
        try store.checkVerifies()
    }

    /// A key has more events than its in-key checkpoints cover, and late events arrive anywhere
    /// among these events.
    @Test func lateEventsAreFoldedFromAnyInKeyCheckpoint() throws {
        let store = try TestStore()
        let (early, late) = (OriginID(high: 1, low: 1), OriginID(high: 2, low: 2))
        func note(_ origin: OriginID, _ at: UInt64) throws -> HistoryEvent {
            HistoryEvent(
                origin: origin, stamp: Stamp(milliseconds: at),
                proposal: try ProposedEvent(
                    NoteAdded(isbn: "1", reader: "r", text: "at \(at)"), atMilliseconds: at))
        }
        let count: UInt64 = 64 * 8 + 7
        for start in stride(from: 0, to: count, by: 100) {
            try store.log.record(
                try (start..<min(start + 100, count)).map { try note(early, 10_000 + $0 * 10) })
            try store.touch()
        }
        for place in [count - 1, count - 70, count - 300, 64, 63, 65, 0] {
            try store.log.record([try note(late, 10_000 + place * 10 - 5)])
            try store.checkVerifies("late before the event \(place)")
        }
        // Append more events after the existing events, and then a batch of late events.
        try store.log.record(try (count..<count + 130).map { try note(early, 10_000 + $0 * 10) })
        try store.checkVerifies("further events")
        try store.log.record(try (1..<80).map { try note(late, 10_003 + $0 * 60) })
        try store.checkVerifies("a late batch")
    }

    @Test func keyWithManyItemsIsRefolded() throws {
        let count = Seed.setting("TAPEDECK_ITEMS", default: 3_000)
        let store = try TestStore([ReaderNotes(), OpenLoans()])
        var events: [ProposedEvent] = []
        for number in 0..<count {
            events.append(
                try ProposedEvent(
                    NoteAdded(isbn: "1", reader: "r", text: "\(number)"),
                    atMilliseconds: 1_000_000 + UInt64(number)))
            if number % 1_000 == 500 {
                events.append(
                    try ProposedEvent(
                        LoanStarted(isbn: "1", reader: "r"),
                        atMilliseconds: 1_000_000 + UInt64(number)))
            }
        }
        for start in stride(from: 0, to: events.count, by: 10_000) {
            try store.log.appendBlocking(Array(events[start...].prefix(10_000)))
        }
        try store.touch()
        // A late event arrives, so the numbers of all loans are now wrong.
        try store.log.appendBlocking([
            try ProposedEvent(
                NoteAdded(isbn: "1", reader: "r", text: "late"), atMilliseconds: 999_999)
        ])
        try store.checkVerifies()
        let notes = try store.runner.read { views in
            try views.state(of: ReaderNotes(), key: Tag("reader", "r"))?.notes
        }
        #expect(notes == UInt64(count + 1))
    }

    // MARK: - Equal facts

    /// If two origins observe the same fact, the order of arrival does not determine which of the
    /// two events is folded.
    @Test(arguments: [true, false])
    func equalFactsOfTwoOriginsAreFoldedOnce(isSmallerFirst: Bool) throws {
        let store = try TestStore([BookHistory(), ShelfCounts()])
        let events = try [1, 2].map { number in
            HistoryEvent(
                origin: OriginID(high: number, low: 0), stamp: Stamp(milliseconds: 5_000 + number),
                proposal: try ProposedEvent(
                    BookReceived(
                        isbn: "1", title: "Emma", shelf: "a", version: 3, weight: number * 10),
                    atMilliseconds: 5_000 + number))
        }
        for event in isSmallerFirst ? events : events.reversed() {
            try store.log.record([event])
            try store.checkVerifies()
        }
        let state = try store.runner.read { try $0.state(of: BookHistory(), key: Tag("book", "1")) }
        var expected = ChainState()
        expected.count = 1
        #expect(state?.count == 1)
        let other = try TestStore([BookHistory(), ShelfCounts()])
        try other.log.record(events)
        #expect(try store.liveDigests() == other.liveDigests())
    }

    // MARK: - Events that a fold does not read

    @Test(arguments: ["newer", "sealed"]) func skippedEventLeavesNoTrace(_ kind: String) throws {
        let store = try TestStore()
        let note = NoteAdded(isbn: "1", reader: "r", text: "later")
        var event = try note.newer(page: 7)
        if kind == "sealed" { event.encoding = .sealed }
        try store.log.appendBlocking([event])
        try store.checkVerifies("first")
        let state = try store.runner.read { try $0.state(of: BookHistory(), key: Tag("book", "1")) }
        #expect(state == nil)
        try store.append(note)
        try store.checkVerifies("after an event that is folded")
        try store.log.appendBlocking([event])
        try store.checkVerifies("last")
        let newer = try store.runner.read { try $0.state(of: NewerNotes(), key: Tag("book", "1")) }
        #expect(newer?.count == (kind == "newer" ? 3 : 1))
    }

    @Test func digestsIgnoreEventsThatNoProjectionReads() throws {
        let one = try TestStore()
        let other = try TestStore()
        let note = HistoryEvent(
            origin: OriginID(high: 1, low: 1), stamp: Stamp(milliseconds: 1_000),
            proposal: try ProposedEvent(
                NoteAdded(isbn: "1", reader: "r", text: "a"), atMilliseconds: 1_000))
        try one.log.record([note])
        try other.log.appendBlocking([
            ProposedEvent(type: "CardPrinted", tags: [try Tag("book", "1")], payload: [1])
        ])
        try other.log.record([note])
        #expect(try one.liveDigests() == other.liveDigests())
        #expect(try one.runner.rebuild().digests == other.runner.rebuild().digests)
    }

    @Test func refusedEventIsFoldedNowhere() throws {
        let store = try TestStore()
        let origin = OriginID(high: 9, low: 9)
        try store.log.record([
            HistoryEvent(
                origin: origin, stamp: Stamp(milliseconds: 1_000),
                proposal: try ProposedEvent(
                    LoanStarted(isbn: "1", reader: "r"), atMilliseconds: 1_000))
        ])
        try store.touch()
        try store.log.recordReceipts([
            Receipt(
                event: EventID(origin: origin, sequence: 1), lineage: LineageID(high: 1, low: 1),
                serverPosition: 1, receivedAt: Stamp(milliseconds: 2_000), outcome: .refused(.fork))
        ])
        try store.checkVerifies()
        #expect(
            try store.runner.read { try $0.state(of: OpenLoans(), key: Tag("book", "1")) } == nil)
        #expect(
            try store.runner.read {
                try $0.rows(
                    of: CardCatalogue(), table: 1, lower: nil, upper: nil, after: nil, limit: 9)
            }.isEmpty)
    }

    @Test func emptyStoreHasEmptyProjections() throws {
        let store = try TestStore()
        try store.checkVerifies("empty")
        let rebuilt = try store.runner.rebuild(options: RebuildOptions(workers: 4))
        #expect(rebuilt.events == 0)
        #expect(rebuilt.projections.allSatisfy { $0.keys == 0 && $0.rows == 0 })
        #expect(try store.liveDigests() == rebuilt.digests)
        try store.append(LoanStarted(isbn: "1", reader: "r"))
        try store.checkVerifies("one event")
        #expect(try store.runner.rebuild().projections.contains { $0.keys == 1 })
    }
}
