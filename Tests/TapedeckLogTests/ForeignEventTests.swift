@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Events from a server are recorded together with their receipts and the engine's rows, or not at
/// all.
@Suite(.offTasks) struct ForeignEventTests {
    private let directory: TemporaryDirectory
    private let source: EventLog
    private let target: EventLog
    private let lineage = LineageID(high: 1, low: 2)

    init() throws {
        directory = try TemporaryDirectory("foreign")
        source = try directory.store("source")
        target = try directory.store("target")
        try source.appendBlocking((0..<10).map { .sample($0) })
    }

    private func page(
        from first: UInt64 = 1, through last: UInt64 = 10, receivedAt: UInt64 = 1_000,
        behind former: ForeignEvents = ForeignEvents()
    ) throws -> ForeignEvents {
        var page = former
        try source.forEachCanonical(of: source.origin, after: first - 1) { id, canonical in
            guard id.sequence <= last else { return false }
            page.add(
                canonical,
                Receipt(
                    event: id, lineage: lineage, serverPosition: id.sequence,
                    receivedAt: Stamp(milliseconds: receivedAt)))
            return true
        }
        return page
    }

    @Test func eventsReceiptsAndRowsAreRecordedTogether() throws {
        let outcome = try target.record(try page(), rows: [SyncRow("cursor", [7])])
        #expect(outcome.recorded == 10 && outcome.receipts == 10)
        #expect(try target.syncRow("cursor") == [7])
        let event = EventID(origin: source.origin, sequence: 3)
        #expect(try target.receipts(of: event).map(\.serverPosition) == [3])
        let found = try #require(try target.event(event))
        #expect(try target.standing(of: found).effectiveStamp == Stamp(milliseconds: 1_000))
        #expect(try target.verify().problems.isEmpty)
    }

    @Test func recordingAPageAgainChangesNothing() throws {
        _ = try target.record(try page())
        let again = try target.record(try page())
        #expect(again.recorded == 0 && again.receipts == 0)
        #expect(target.head.rawValue == 10)
    }

    /// The events of a page have receipts from one server; receipts from other servers follow the
    /// events.
    @Test func receiptsOfOtherServersInAPageAreRecorded() throws {
        _ = try target.record(try page(through: 4))
        var page = try page(from: 5)
        let other = LineageID(high: 9, low: 9)
        for sequence: UInt64 in [2, 5, 7, 10] {
            page.add(
                Receipt(
                    event: EventID(origin: source.origin, sequence: sequence), lineage: other,
                    serverPosition: 50 + sequence, receivedAt: Stamp(milliseconds: 900)))
        }
        #expect(page.otherReceipts.count == 1 && page.furtherReceipts.count == 3)
        let outcome = try target.record(page)
        #expect(outcome.recorded == 6 && outcome.receipts == 10)
        for sequence: UInt64 in [2, 5, 7, 10] {
            let event = EventID(origin: source.origin, sequence: sequence)
            #expect(
                try target.receipts(of: event).map(\.serverPosition) == [sequence, 50 + sequence])
            let found = try #require(try target.event(event))
            #expect(try target.standing(of: found).effectiveStamp == Stamp(milliseconds: 900))
        }
        #expect(try target.verify().problems.isEmpty)
    }

    @Test func pageWithAGapRecordsNothing() throws {
        let error = #expect(throws: LogError.self) {
            try target.record(try page(from: 4), rows: [SyncRow("cursor", [7])])
        }
        #expect(error?.code == .gap)
        #expect(target.head == .start)
        #expect(try target.syncRow("cursor") == nil)
    }

    @Test func differentEventWithTheSameIDIsAFork() throws {
        _ = try target.record(try page(through: 5))
        var page = ForeignEvents()
        let id = EventID(origin: source.origin, sequence: 5)
        var canonical = CanonicalEvent()
        canonical.withBytes(of: .sample(77), id: id, stamp: Stamp(milliseconds: 1)) {
            page.add(
                $0,
                Receipt(
                    event: id, lineage: lineage, serverPosition: 5,
                    receivedAt: Stamp(milliseconds: 1)))
        }
        let error = #expect(throws: LogError.self) { try target.record(page) }
        #expect(error?.code == .fork)
        #expect(try error?.position.map { try target.event(at: $0)?.id } == id)
    }

    /// A page from a server may end with events that are already recorded.
    @Test(arguments: [1...1, 2...4, 5...5]) func eventsCanBeFollowedByKnownOnes(
        again: ClosedRange<UInt64>
    ) throws {
        _ = try target.record(try page(through: 5))
        let fresh = try page(from: 6, through: 8)
        let both = try page(from: again.lowerBound, through: again.upperBound, behind: fresh)
        #expect(try target.record(both).recorded == 3)
        #expect(try target.verify().problems.isEmpty)
        #expect(try target.record(try page(from: 9)).recorded == 2)
        #expect(try target.verify().problems.isEmpty)
    }

    @Test func invalidEventBytesAreRefused() throws {
        var page = try page(through: 1)
        page.events[30] ^= 0xFF
        page.events[40] = 0xFF
        #expect(throws: LogError.self) { try target.record(page) }
        #expect(target.head == .start)
    }

    @Test func clockFollowsTheServerInsteadOfTheStamp() throws {
        let fast = try directory.store(
            "fast", .init(now: { 2_200_000_000_000 }))
        try fast.appendBlocking([.sample(1)])
        var page = ForeignEvents()
        try fast.forEachCanonical(of: fast.origin, after: 0) { id, canonical in
            page.add(
                canonical,
                Receipt(
                    event: id, lineage: lineage, serverPosition: 1,
                    receivedAt: Stamp(milliseconds: 1_700_000_000_000)))
            return true
        }
        let slow = try directory.store("slow", .init(now: { 1_000_000_000_000 }))
        _ = try slow.record(page)
        let next = try slow.appendBlocking([.sample(2)])
        let stamp = try #require(try slow.event(next.firstID)).stamp
        #expect(stamp.milliseconds == 1_700_000_000_000)
    }

    @Test func hashChainIsAvailableAtEveryEvent() throws {
        let many = try directory.store("many")
        var chains: [HashChain] = [HashChain()]
        for round in 1...4 {
            try many.appendBlocking((0..<round * 3).map { .sample($0) })
        }
        var chain = HashChain()
        try many.forEachCanonical(of: many.origin, after: 0) { _, canonical in
            chain.add(canonical)
            chains.append(chain)
            return true
        }
        for (sequence, chain) in chains.enumerated() {
            #expect(try many.chain(of: many.origin, at: UInt64(sequence)) == chain)
        }
        #expect(try many.chain(of: many.origin, at: UInt64(chains.count)) == nil)
    }
}
