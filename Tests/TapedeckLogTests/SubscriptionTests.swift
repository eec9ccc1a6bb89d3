import Foundation
@_spi(Core) import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckLog

/// A named subscription delivers each event at least once, in log order.
@Suite(.offTasks) struct SubscriptionTests: SubscriptionSuite {
    @Test func allEventsAreDeliveredInLogOrder() async throws {
        let log = try TemporaryDirectory().store()
        try appended(2_500, in: log)
        let mails = try subscribe(log)
        #expect(try await positions(mails, 2_500) == Array(1...2_500))
        log.close()
    }

    @Test func unacknowledgedEventsAreDeliveredAgain() async throws {
        let directory = try TemporaryDirectory()
        var log = try directory.store()
        try appended(10, in: log)
        let mails = try subscribe(log)
        #expect(try await positions(mails, 10).count == 10)
        try await acknowledge(4, mails)
        try await acknowledge(2, mails)
        // The events are delivered again to the next loop, and to a new subscription after a
        // restart.
        #expect(try await positions(mails, 6) == Array(5...10))
        log.close()
        log = try EventLog(opening: directory.file("store"))
        let again = try subscribe(log)
        #expect(try await positions(again, 6) == Array(5...10))
        try await acknowledge(10, again)
        again.close()
        try appended(1, in: log)
        #expect(try await lastPositions(try subscribe(log), 1) == [11])
        log.close()
    }

    @Test func subscriptionFromNowStartsAfterTheLastEvent() async throws {
        let log = try TemporaryDirectory().store()
        try appended(700, in: log)
        try log.appendBuffered([.sample(1)])
        let mails = try subscribe(log, from: .now)
        try appended(2, in: log)
        #expect(try await positions(mails, 2) == [702, 703])
        mails.close()
        // The start is fixed when the subscription is created.
        #expect(try await lastPositions(try subscribe(log, from: .now), 2) == [702, 703])
        log.close()
    }

    /// Events that do not match are skipped, and are treated as acknowledged once all events before
    /// them are acknowledged.
    @Test func checkpointAdvancesPastFilteredEvents()
        async throws
    {
        let log = try TemporaryDirectory().store()
        for _ in 0..<3 {
            try appended(3_000, in: log)
            try appended(1, in: log, type: "Rare")
        }
        try appended(3_000, in: log)
        let mails = try subscribe(log, types: ["Rare", "NeverSeen"])
        let (found, place) = try await read(mails, 3)
        #expect(found == [3_001, 6_002, 9_003])
        try await acknowledge(6_002, mails)
        #expect(try statuses(log)["mails"] == 6_002)
        try await acknowledge(9_003, mails)
        #expect(try statuses(log)["mails"] == 9_003 || statuses(log)["mails"] == 12_003)
        // No event was delivered, but the checkpoint reaches the end of the log.
        let waiting = Task { try await positions(mails, 1, after: place) }
        try await eventually { try statuses(log)["mails"] == 12_003 }
        try appended(1, in: log, type: "Rare")
        #expect(try await waiting.value == [12_004])
        log.close()
    }

    @Test func filterRequiresAllTags() async throws {
        let log = try TemporaryDirectory().store()
        let (one, two) = (Tag(unchecked: "a/1"), Tag(unchecked: "a/2"))
        for tags in [[one], [two], [one, two], [], [two, one]] {
            try append(tags, to: log)
        }
        #expect(try await lastPositions(try subscribe(log, tags: [one, two]), 2) == [3, 5])
        log.close()
    }

    @Test func eventsAcknowledgedInAdvanceAreSkipped() async throws {
        let log = try TemporaryDirectory().store()
        try appended(1_000, in: log)
        let mails = try subscribe(log)
        let first = try #require(try await mails.next(after: nil))
        try await acknowledge(998, mails)
        #expect(try await positions(mails, 2, after: first.place) == [999, 1_000])
        // An event that is not in the log cannot be acknowledged.
        var other = try #require(try event(999, in: log))
        other.stamp = Stamp(milliseconds: 1)
        let error = await #expect(throws: LogError.self) {
            try await mails.acknowledge(through: other)
        }
        #expect(error?.code == .notFound)
        #expect(try statuses(log)["mails"] == 998)
        log.close()
    }

    /// Intact events before a damaged one are delivered; then the damage is reported.
    @Test func damagedEventStopsDeliveryAtItsPosition() async throws {
        let log = try TemporaryDirectory().store()
        try appended(9, in: log)
        try damage(6, in: log)
        let mails = try subscribe(log)
        let (found, place) = try await read(mails, 5)
        #expect(found == Array(1...5))
        let error = await #expect(throws: LogError.self) { try await mails.next(after: place) }
        #expect(error?.code == .damaged && error?.position?.rawValue == 6)
        log.close()
    }
}
