import Foundation
@_spi(Core) @testable import TapedeckLog
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

/// When two histories of one origin meet, the events of the losing history are kept under new IDs.
@Suite(.offTasks) struct HealTests {
    private let directory: TemporaryDirectory
    private let log: EventLog

    init() throws {
        directory = try TemporaryDirectory("heal")
        log = try directory.store("mine")
        for round in 0..<4 { try log.appendBlocking((0..<5).map { .sample($0 + 5 * round) }) }
    }

    private func id(_ sequence: UInt64, of origin: OriginID? = nil) -> EventID {
        EventID(origin: origin ?? log.origin, sequence: sequence)
    }

    /// Returns the payloads of all events by ID.
    private func named(_ log: EventLog) throws -> [EventID: [UInt8]] {
        var found: [EventID: [UInt8]] = [:]
        for row in try log.origins() where row.lastSequence > 0 {
            for sequence in 1...row.lastSequence {
                let event = try #require(try log.event(id(sequence, of: row.origin)))
                found[event.id] = event.payload
            }
        }
        return found
    }

    @Test func eventsOfTheLosingHistoryAreReissued() throws {
        let origin = log.origin
        let before = try log.allEvents()
        #expect(try log.heal(from: id(8)) == 13)

        #expect(log.origin != origin)
        #expect(try log.origins().first { $0.origin == origin }?.lastSequence == 7)
        let reissued = try log.allEvents().filter { $0.reissuedFrom != nil }
        #expect(reissued.map(\.reissuedFrom) == before[7...].map(\.id))
        #expect(reissued.map(\.payload) == before[7...].map(\.payload))
        #expect(reissued.map(\.stamp) == before[7...].map(\.stamp))
        #expect(reissued.map(\.id.sequence) == Array(1...13))
        let note = try #require(try log.allEvents().last)
        #expect(note.id.origin == log.origin)
        let forked = try note.decode(OriginForked.self)
        #expect(forked.origin == origin && forked.firstSequence == 8 && forked.count == 13)
    }

    @Test func eventsThatLostTheirIDsAreRefused() throws {
        let before = try log.allEvents()
        try log.heal(from: id(8))
        for event in before {
            #expect(try log.standing(of: event).isRefused == (event.id.sequence >= 8))
        }
    }

    @Test func winningHistoryTakesOverTheIDs() throws {
        let origin = log.origin
        let other = try twin(upTo: 7)
        try log.heal(from: id(8, of: origin))
        for page in [1, 3] {
            let foreign = try foreignEvents(of: other, origin, pageCount: page)
            for page in foreign { _ = try log.record(page) }
        }
        for sequence in UInt64(1)...12 {
            #expect(
                try log.event(id(sequence, of: origin))?.payload
                    == other.event(id(sequence, of: origin))?.payload)
        }
        #expect(try log.chain(of: origin, at: 12) == other.chain(of: origin, at: 12))
        #expect(try log.verify().problems.isEmpty)
        log.close()
        let again = try EventLog(opening: directory.file("mine"))
        #expect(try again.verify().problems.isEmpty)
        try again.appendBlocking([.sample(1)])
        #expect(try again.verify().problems.isEmpty)
    }

    @Test(arguments: [UInt64](1...20))
    func storeIsIntactAfterHealingFromAnyEvent(first: UInt64) throws {
        let origin = log.origin
        try log.heal(from: id(first))
        #expect(try log.verify().problems.isEmpty)
        try log.appendBlocking([.sample(3), .sample(4)])
        #expect(try log.verify().problems.isEmpty)
        try log.export(to: directory.file("out.tdx"))
        let copy = try directory.store("copy")
        try copy.importEvents(from: directory.file("out.tdx"))
        #expect(try named(copy) == named(log))
        #expect(try copy.origins().first { $0.origin == origin }?.lastSequence ?? 0 == first - 1)
        #expect(try copy.verify().problems.isEmpty)
    }

    @Test func storesWithTheSameHistoryReissueTheSameEvents() throws {
        let origin = log.origin
        try log.export(to: directory.file("out.tdx"))
        let other = try directory.store("other")
        try other.importEvents(from: directory.file("out.tdx"))
        try log.appendBlocking([.sample(90)])
        try log.heal(from: id(15, of: origin))
        try other.heal(from: id(15, of: origin))
        let mine = try log.allEvents().filter { $0.reissuedFrom != nil }
        let theirs = try other.allEvents().filter { $0.reissuedFrom != nil }
        #expect(mine.prefix(6).map(\.id) == theirs.map(\.id))
        let heir = try #require(theirs.first?.id.origin)
        #expect(try log.chain(of: heir, at: 6) == other.chain(of: heir, at: 6))
        // The other store also accepts the event that only this store reissued.
        for page in try foreignEvents(of: log, heir, pageCount: 2) { _ = try other.record(page) }
        #expect(try other.origins().first { $0.origin == heir }?.lastSequence == 7)
    }

    @Test func healingFromAMissingEventChangesNothing() throws {
        let head = log.head
        #expect(try log.heal(from: id(21)) == 0)
        #expect(try log.heal(from: EventID(origin: OriginID(high: 1, low: 1), sequence: 1)) == 0)
        #expect(log.head == head)
    }

    @Test func healingDropsRowsOfSyncEngines() throws {
        try log.setSyncRows([SyncRow("server/a", [1]), SyncRow("other", [2])])
        try log.heal(from: id(20))
        #expect(try log.syncRows(prefix: "").isEmpty)
    }

    @Test func renewedOriginContinuesTheClock() throws {
        let former = log.origin
        let last = try #require(try log.allEvents().last)
        try log.renewOrigin()
        #expect(log.origin != former)
        let next = try log.appendBlocking([.sample(1)])
        #expect(next.firstID == id(1))
        #expect(try #require(try log.event(next.firstID)).stamp > last.stamp)
        #expect(try log.verify().problems.isEmpty)
    }

    // MARK: - The losing history returns

    /// Returns the IDs of the events that have this payload and are not refused.
    private func counting(_ payload: [UInt8], _ log: EventLog) throws -> [EventID] {
        try log.allEvents().filter { event in
            try event.payload == payload && !log.standing(of: event).isRefused
        }.map(\.id)
    }

    @Test(arguments: [1, 3, 20])
    func eventThatReturnsWithItsIDIsAcceptedOnce(pageCount: Int) throws {
        let origin = log.origin
        let before = try log.allEvents()
        let own = try foreignEvents(of: log, origin, pageCount: pageCount)
        try log.heal(from: id(8, of: origin))
        let heir = try #require(try log.allEvents().first { $0.reissuedFrom != nil }?.id.origin)
        #expect(try counting(before[7].payload, log) == [id(1, of: heir)])

        for page in own { _ = try log.record(page) }
        for event in before { #expect(try counting(event.payload, log) == [event.id]) }
        #expect(try log.verify().problems.isEmpty)

        // A receipt for the reissued event changes nothing, and neither does reopening the store.
        try log.recordReceipts([
            Receipt(
                event: id(1, of: heir), lineage: LineageID(high: 7, low: 8), serverPosition: 1,
                receivedAt: Stamp(milliseconds: 5))
        ])
        log.close()
        let again = try EventLog(opening: directory.file("mine"))
        #expect(try counting(before[7].payload, again) == [before[7].id])
        #expect(try again.verify().problems.isEmpty)

        // The event loses its ID again, so its existing reissue is valid again.
        try again.heal(from: id(8, of: origin))
        #expect(try counting(before[7].payload, again) == [id(1, of: heir)])
        #expect(try again.verify().problems.isEmpty)
    }

    @Test func allStoresAcceptTheSameOneOfTwoReissues() throws {
        let origin = log.origin
        let before = try log.allEvents()
        try log.export(to: directory.file("out.tdx"))
        let other = try directory.store("other")
        try other.importEvents(from: directory.file("out.tdx"))
        try log.heal(from: id(8, of: origin))
        try other.heal(from: id(11, of: origin))
        // Each store imports the events that the other store reissued.
        let mine = try #require(try log.allEvents().first { $0.reissuedFrom != nil }).id.origin
        let theirs = try #require(try other.allEvents().first { $0.reissuedFrom != nil }).id.origin
        #expect(mine != theirs)
        for page in try foreignEvents(of: log, mine, pageCount: 2) { _ = try other.record(page) }
        for page in try foreignEvents(of: other, theirs, pageCount: 2) { _ = try log.record(page) }
        for event in before[10...] {
            let counts = try counting(event.payload, log)
            #expect(counts.count == 1 && counts.first?.origin == min(mine, theirs))
            #expect(try counting(event.payload, other) == counts)
        }
        #expect(try log.verify().problems.isEmpty)
        #expect(try other.verify().problems.isEmpty)
        // A store that imports an export refuses the same reissues.
        try log.export(to: directory.file("both.tdx"))
        let copy = try directory.store("copy")
        try copy.importEvents(from: directory.file("both.tdx"))
        for event in before[10...] {
            #expect(try counting(event.payload, copy) == counting(event.payload, log))
        }
        #expect(try copy.verify().problems.isEmpty)
    }

    @Test func reissueIsAcceptedDespiteADifferentEventWithItsFormerID() throws {
        let origin = log.origin
        let before = try log.allEvents()
        let other = try twin(upTo: 7)
        try log.heal(from: id(8, of: origin))
        for page in try foreignEvents(of: other, origin, pageCount: 2) { _ = try log.record(page) }
        for event in before { #expect(try counting(event.payload, log).count == 1) }
        #expect(try log.verify().problems.isEmpty)
    }

    @Test func verifyReportsAReissueThatIsWronglyAccepted() throws {
        let origin = log.origin
        let own = try foreignEvents(of: log, origin, pageCount: 1)
        try log.heal(from: id(20, of: origin))
        for page in own { _ = try log.record(page) }
        let reissue = try #require(try log.allEvents().first { $0.reissuedFrom != nil })
        try log.write { transaction in
            var writer = ReceiptWriter(log.tables)
            try writer.settle(
                Standing(of: reissue.stamp), of: reissue.stamp, at: reissue.position.rawValue,
                transaction)
            try writer.finish(transaction)
        }
        let problems = try log.verify().problems
        #expect(problems.map(\.kind) == [.override])
        #expect(problems.first?.position == reissue.position.rawValue)
    }

    // MARK: - The other history

    /// Returns a store with another history of the log's origin: events up to `sequence` are the
    /// same, and later events, up to number 12, are different.
    private func twin(upTo sequence: UInt64) throws -> EventLog {
        let path = directory.file("twin")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let other = try EventLog.create(path + "/store")
        for page in try foreignEvents(of: log, log.origin, pageCount: 1, through: sequence) {
            _ = try other.record(page)
        }
        // The API of a store cannot write as another origin, so this function writes the records
        // directly.
        let origin = log.origin
        let now = other.now()
        try other.write { transaction in
            let state = try other.state(in: transaction)
            var writer = RecordWriter(other.tables, state)
            let ordinal = try writer.ordinal(of: origin, transaction)
            let cursor = try transaction.cursor(other.tables.events)
            for number in 0..<(12 - Int(sequence)) {
                try writer.add(
                    .sample(100 + number), origin: ordinal,
                    stamp: Stamp(milliseconds: now + UInt64(number)), endsCommit: true,
                    transaction, cursor)
            }
            _ = try writer.finish(transaction)
        }
        try other.refreshState()
        return other
    }

    private func foreignEvents(
        of log: EventLog, _ origin: OriginID, pageCount: Int, through: UInt64 = .max
    ) throws -> [ForeignEvents] {
        var pages: [ForeignEvents] = []
        let lineage = LineageID(high: 7, low: 7)
        try log.forEachCanonical(of: origin, after: 0) { id, canonical in
            guard id.sequence <= through else { return false }
            if pages.isEmpty || pages[pages.count - 1].eventCount >= 20 / pageCount {
                pages.append(ForeignEvents())
            }
            pages[pages.count - 1].add(
                canonical,
                Receipt(
                    event: id, lineage: lineage, serverPosition: id.sequence,
                    receivedAt: Stamp(milliseconds: 1_900_000_000_000 + id.sequence)))
            return true
        }
        return pages
    }
}
