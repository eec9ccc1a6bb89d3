import Foundation
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct ReceiptTests {
    private let directory: TemporaryDirectory
    private let time = ManualTime()
    private let log: EventLog
    private let near = LineageID(high: 0, low: 1)
    private let far = LineageID(high: 0, low: 2)

    init() throws {
        directory = try TemporaryDirectory("receipts")
        var options = EventLog.Options()
        options.now = { [time] in time.now }
        log = try directory.store("store", options)
        try log.appendBlocking((0..<10).map { .sample($0) })
    }

    private func receipt(
        _ sequence: UInt64, _ lineage: LineageID, at milliseconds: UInt64,
        _ outcome: Receipt.Outcome = .accepted
    ) -> Receipt {
        Receipt(
            event: EventID(origin: log.origin, sequence: sequence), lineage: lineage,
            serverPosition: sequence, receivedAt: Stamp(milliseconds: milliseconds),
            outcome: outcome)
    }

    private func overrides(after change: UInt64 = 0) throws -> (rows: [StampOverride], last: UInt64)
    {
        try log.read { try log.overrides($0, changedAfter: change) }
    }

    /// A larger position can only be forged.
    @Test(arguments: [(1 << 48, true), (1 << 48 + 1, false), (.max, false)] as [(UInt64, Bool)])
    func serverPositionsAreLimited(_ position: UInt64, isValid: Bool) throws {
        var given = receipt(3, near, at: 5)
        given.serverPosition = position
        // In exports, and in the entries of servers.
        var bytes: [UInt8] = []
        bytes.append(given)
        let read = bytes.withUnsafeBytes {
            var reader = ByteReader($0)
            return reader.receipt()
        }
        #expect((read != nil) == isValid)
        // In the log.
        let key = ReceiptRow.key(1, 3, near)
        let value = ReceiptRow.value(given, key: key)
        let row = key.withUnsafeBytes { key in
            value.withUnsafeBytes { ReceiptRow.read(key, $0, origin: log.origin) }
        }
        #expect((row != nil) == isValid)
        guard !isValid else { return #expect(try log.recordReceipts([given]) == 1) }
        let error = #expect(throws: LogError.self) { try log.recordReceipts([given]) }
        #expect(error?.code == .tooLarge)
    }

    @Test func receiptsSurviveReopening() throws {
        let given = [receipt(3, near, at: 5), receipt(3, far, at: 9, .refused(.fork))]
        #expect(try log.recordReceipts(given) == 2)
        #expect(try log.recordReceipts(given) == 0)
        log.close()
        let again = try EventLog(opening: directory.file("store"))
        #expect(try again.receipts(of: given[0].event) == given)
        #expect(try again.receipts(of: EventID(origin: log.origin, sequence: 4)) == [])
        #expect(try again.receipts(of: EventID(origin: .random(), sequence: 4)) == [])
        #expect(try again.verify().problems == [])
    }

    @Test func receiptOfAnUnknownEventFailsTheEntireCall() throws {
        for event in [
            EventID(origin: log.origin, sequence: 11), EventID(origin: .random(), sequence: 1),
        ] {
            var stray = receipt(1, near, at: 5)
            stray.event = event
            let error = #expect(throws: LogError.self) {
                try log.recordReceipts([receipt(1, near, at: 5), stray])
            }
            #expect(error?.code == .notFound)
            #expect(error?.message.contains(event.description) == true)
            #expect(try log.receipts(of: receipt(1, near, at: 5).event) == [])
        }
    }

    @Test func effectiveStampIsTheEarliestOfStampAndReceipts() throws {
        let own = try #require(try log.event(at: LogPosition(rawValue: 1))).stamp
        try log.recordReceipts([receipt(1, near, at: time.now + 100)])
        #expect(try overrides().rows == [])
        try log.recordReceipts([receipt(1, far, at: time.now - 100)])
        let (rows, last) = try overrides()
        #expect(rows.map(\.position) == [1])
        #expect(rows.map(\.effectiveStamp) == [Stamp(milliseconds: time.now - 100)])
        #expect(rows.map(\.isRefused) == [false])
        #expect(last == 1)
        #expect(own > Stamp(milliseconds: time.now - 100))
    }

    @Test func earliestReceiptDecidesWhetherAnEventIsRefused() throws {
        try log.recordReceipts([receipt(1, near, at: time.now + 9, .refused(.tooLarge))])
        #expect(try overrides().rows.map(\.isRefused) == [true])
        // An earlier receipt accepts the event. The row is kept, so that projections notice the
        // change.
        let before = try overrides().last
        try log.recordReceipts([receipt(1, far, at: time.now + 5)])
        let (rows, last) = try overrides(after: before)
        #expect(rows.map(\.isRefused) == [false])
        #expect(rows.map(\.effectiveStamp) == [try log.event(at: LogPosition(rawValue: 1))?.stamp])
        #expect(last == before + 1)
        // A later receipt changes nothing.
        try log.recordReceipts([
            receipt(1, LineageID(high: 9, low: 9), at: time.now + 6, .refused(.fork))
        ])
        #expect(try overrides(after: last).rows == [])
        #expect(try log.verify().problems == [])
    }

    @Test func orderOfReceiptsDoesNotMatter() throws {
        var random = SeededRandom(Seed.fresh())
        let receipts = (0..<200).map { _ in
            receipt(
                .random(in: 1...10, using: &random),
                LineageID(high: 0, low: .random(in: 1...3, using: &random)),
                at: .random(in: time.now - 3...time.now + 3, using: &random),
                random.chance(40)
                    ? .refused(ErrorCode(rawValue: random.pick(["fork", "gap"]))) : .accepted)
        }
        try log.recordReceipts(receipts)
        let other = try directory.store("other")
        try log.export(to: directory.file("a.tdx"))
        try other.importEvents(from: directory.file("a.tdx"))
        let plain = try directory.store("plain")
        let events = try TemporaryDirectory().file("bare.tdx")
        try exportWithoutReceipts(to: events)
        try plain.importEvents(from: events)
        for receipt in receipts.shuffled(using: &random) { try plain.recordReceipts([receipt]) }
        for sequence in UInt64(1)...10 {
            let id = EventID(origin: log.origin, sequence: sequence)
            #expect(try plain.receipts(of: id) == log.receipts(of: id))
            #expect(try other.receipts(of: id) == log.receipts(of: id))
        }
        func standings(_ log: EventLog) throws -> [UInt64: Standing] {
            let rows = try log.read { try log.overrides($0, changedAfter: 0).rows }
            var standings: [UInt64: Standing] = [:]
            for event in try log.allEvents() {
                standings[event.position.rawValue] = Standing(of: event.stamp)
            }
            for row in rows { standings[row.position] = Standing(row) }
            return standings
        }
        #expect(try standings(log) == standings(plain))
        #expect(try standings(log) == standings(other))
    }

    private func exportWithoutReceipts(to path: String) throws {
        let copy = try directory.store("bare")
        let all = directory.file("bare-source.tdx")
        let fresh = try directory.store("fresh")
        _ = fresh
        try log.export(to: all)
        try copy.importEvents(from: all)
        try copy.write { transaction in
            for table in [copy.tables.receipts, copy.tables.overrides, copy.tables.changes] {
                try transaction.clear(table)
            }
        }
        try copy.export(to: path)
    }

    @Test func overridesCanBeReadInParts() throws {
        try log.recordReceipts((1...6).map { receipt($0, near, at: 5) })
        let first = try log.read { try log.overrides($0, changedAfter: 0, limit: 4) }
        #expect(first.rows.map(\.change) == [1, 2, 3, 4])
        #expect(first.last == 4)
        let rest = try log.read { try log.overrides($0, changedAfter: first.last, limit: 4) }
        #expect(rest.rows.map(\.change) == [5, 6])
        #expect(rest.last == 6)
        #expect(try overrides(after: 6).rows == [])
        #expect(try overrides(after: .max).last == 6)
        // A row that changes again moves to the end.
        try log.recordReceipts([receipt(2, far, at: 3)])
        #expect(try overrides().rows.map(\.position) == [1, 3, 4, 5, 6, 2])
    }

    @Test func receiptsDoNotMoveTheClock() throws {
        try log.recordReceipts([receipt(1, near, at: 4_000_000_000)])
        let id = try log.appendBlocking([.sample(1)]).firstID
        #expect(try log.event(id)?.stamp.milliseconds == time.now)
    }

    @Test func observersAreNotifiedOfReceipts() throws {
        let heard = DispatchSemaphore(value: 0)
        let number = log.observeCommits { _ in heard.signal() }
        try log.recordReceipts([receipt(1, near, at: 5)])
        #expect(heard.wait(timeout: .now() + waitSecondsMax) == .success)
        log.stopObserving(number)
    }

    @Test func refusalCodeOfInvalidLengthIsRefused() throws {
        let code = ErrorCode(rawValue: String(repeating: "x", count: 65))
        for outcome in [Receipt.Outcome.refused(code), .refused(ErrorCode(rawValue: ""))] {
            let error = #expect(throws: LogError.self) {
                try log.recordReceipts([receipt(1, near, at: 5, outcome)])
            }
            #expect(error?.code == .tooLarge)
        }
    }
}
