import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// `verify` finds every difference from the log and reports its location.
@Suite(.offTasks) struct VerifyTests {
    private func store() throws -> TestStore {
        let store = try TestStore()
        var random = SeededGenerator(3)
        try store.log.record(
            try HistoryGenerator(events: 200, poison: 0).generate(&random).arrival(&random))
        try store.touch()
        return store
    }

    /// Changes the views file while the runner is closed.
    private func tamper(
        with store: TestStore, _ projection: some Projection,
        _ change: (ViewsFile.Tables, borrowing WriteTransaction) throws -> Void
    ) throws {
        let fingerprint = ProjectionDriver.fingerprint(of: projection)
        store.runner.close()
        let number = try #require(try store.log.viewsEntry(fingerprint)).number
        let file = try ViewsFile(
            path: store.log.directory.views(number), number: number, projections: [fingerprint],
            creating: false)
        let tables = try #require(file.tables[fingerprint])
        try file.environment.write { try change(tables, $0) }
        file.close()
        try store.reopen()
    }

    @Test func changedStateIsReported() throws {
        let store = try store()
        let key = try Tag("book", "isbn-4")
        try tamper(with: store, BookHistory()) { tables, transaction in
            let name = ViewKey(key).bytes
            var row = try #require(try transaction.get(tables.states, name).map { Array($0) })
            row[row.count - 1] ^= 1
            try transaction.put(tables.states, name, row)
        }
        let (report, differences) = try store.runner.verify()
        #expect(report.projections.count == LibraryProjections.all.count)
        #expect(
            differences == [
                ViewsDifference(
                    projection: "history", part: "states", key: "book/isbn-4",
                    what: "the values differ")
            ])
        _ = try store.runner.rebuild(["history"])
        try store.checkVerifies("a rebuild repairs it")
    }

    @Test func missingItemIsReported() throws {
        let store = try store()
        let key = try Tag("reader", "reader-2")
        try tamper(with: store, ReaderNotes()) { tables, transaction in
            let cursor = try transaction.cursor(tables.items)
            let found = try #require(try cursor.seek(ViewKey(key).bytes))
            #expect(found.key.starts(with: ViewKey(key).bytes))
            try cursor.delete()
        }
        let difference = try #require(try store.runner.verify().differences.first)
        #expect(difference.projection == "reader-notes")
        #expect(difference.part == "items")
        #expect(difference.key.hasPrefix("reader/reader-2 "))
        #expect(difference.what == "a fresh rebuild contains the entry, but the live tables do not")
    }

    @Test func extraRowIsReported() throws {
        let store = try store()
        try tamper(with: store, CardCatalogue()) { tables, transaction in
            try transaction.put(tables.rows, [1] + Array("zz nobody".utf8), [1])
        }
        let difference = try #require(try store.runner.verify().differences.first)
        #expect(difference.projection == "cards")
        #expect(difference.part == "rows")
        #expect(difference.key.contains("nobody"))
        #expect(
            difference.what == "the live tables contain the entry, but a fresh rebuild does not")
    }

    @Test func everyDifferentProjectionIsReported() throws {
        let store = try store()
        try tamper(with: store, BookHistory()) { tables, transaction in
            try transaction.clear(tables.states)
        }
        try tamper(with: store, OpenLoans()) { tables, transaction in
            try transaction.clear(tables.rows)
        }
        #expect(
            try store.runner.verify().differences.map(\.projection) == ["history", "open-loans"])
        #expect(try store.runner.verify(["cards"]).differences.isEmpty)
    }

    @Test func verifyingChangesNothing() throws {
        let store = try store()
        let digests = try store.liveDigests()
        let files = try store.viewsFiles()
        let fresh = try store.runner.verify().report
        #expect(fresh.digests == digests)
        #expect(try store.viewsFiles() == files)
        #expect(try store.liveDigests() == digests)
    }
}

/// A replay up to a point equals a store that contains only the events up to that point.
@Suite(.offTasks) struct ReplayTests {
    @Test func replayToAPositionEqualsAStoreOfThatPrefix() throws {
        let seed = Seed()
        var random = seed.generator()
        var history = try HistoryGenerator(events: 300).generate(&random)
        history.dropReissues()
        let arrival = history.arrival(&random)
        let store = try TestStore()
        try store.log.record(arrival)
        let live = try store.liveDigests()
        for end in [0, 1, 77, 200, 299, 300] {
            let prefix = try TestStore()
            try prefix.log.record(Array(arrival.prefix(end)))
            let report = try store.runner.replay(
                until: .position(LogPosition(rawValue: UInt64(end))))
            #expect(report.digests == (try prefix.liveDigests()), "\(seed), until \(end)")
            #expect(report.events == UInt64(end))
        }
        #expect(try store.liveDigests() == live)
        #expect(try !store.viewsFiles().contains { $0.hasPrefix("scratch-") })
    }

    /// The log does not record when a receipt arrived.
    @Test func replayToAPositionUsesTheReceiptsKnownToday() throws {
        let store = try TestStore([BookHistory()])
        for number in 0..<4 {
            try store.append(NoteAdded(isbn: "1", reader: "r", text: "\(number)"))
        }
        func digest(_ end: UInt64) throws -> [String: String] {
            try store.runner.replay(until: .position(LogPosition(rawValue: end))).digests
        }
        let before = try digest(2)
        try store.log.recordReceipts([
            Receipt(
                event: EventID(origin: store.log.origin, sequence: 1),
                lineage: LineageID(high: 1, low: 1), serverPosition: 1,
                receivedAt: Stamp(milliseconds: 5), outcome: .refused(.fork))
        ])
        #expect(try digest(2) != before)
        #expect(try store.runner.replay(until: .position(LogPosition(rawValue: 2))).events == 2)
    }

    @Test func replayToATimeEqualsAStoreOfTheEarlierEvents() throws {
        let seed = Seed()
        var random = seed.generator()
        var history = try HistoryGenerator(events: 300).generate(&random)
        history.receipts.removeAll { $0.outcome != .accepted }
        history.dropReissues()
        let store = try TestStore()
        try store.log.record(history.arrival(&random))
        try store.log.recordReceipts(history.receipts)
        let stamps = effectiveStamps(history)
        let times = stamps.values.map(\.milliseconds).sorted()
        for time in [0, times[0], times[150], times[151] - 1, times[299], UInt64.max] {
            let kept = try TestStore()
            // Sequence numbers have no gaps, so excluded events are recorded under a type that no
            // projection reads.
            for (place, events) in history.origins.enumerated() {
                var held = events
                for index in held.indices {
                    let id = EventID(origin: events[index].origin, sequence: UInt64(index + 1))
                    guard let stamp = stamps[id], stamp.milliseconds > time else { continue }
                    held[index].proposal.type = "LeftOut"
                }
                try kept.log.record(held)
                #expect(place < history.origins.count)
            }
            try kept.log.recordReceipts(history.receipts)
            let report = try store.runner.replay(until: .time(milliseconds: time))
            #expect(report.digests == (try kept.liveDigests()), "\(seed), until \(time)")
            #expect(report.events == UInt64(times.count { $0 <= time }), "\(seed), until \(time)")
        }
    }

    private func effectiveStamps(_ history: History) -> [EventID: Stamp] {
        var stamps: [EventID: Stamp] = [:]
        for events in history.origins {
            for (place, event) in events.enumerated() {
                let id = EventID(origin: event.origin, sequence: UInt64(place + 1))
                let received = history.receipts.filter { $0.event == id }.map(\.receivedAt).min()
                stamps[id] = min(event.stamp, received ?? event.stamp)
            }
        }
        return stamps
    }
}
