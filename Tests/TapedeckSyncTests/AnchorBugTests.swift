import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckServer
@testable import TapedeckSync
import TapedeckTesting
import Testing

/// Bugs of other sync engines that Tapedeck must not have: one test for each bug, with a reference
/// to its issue.
struct AnchorBugTests {
    /// livestore#1394: two devices that reconnect at the same time wait for each other forever.
    @Test func devicesThatReconnectTogetherBothSync() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        for number in 0..<20 {
            try a.note("a\(number)")
            try b.note("b\(number)")
        }
        // Each device is interrupted while the other is syncing.
        for steps in 1...6 {
            try rig.sync(a, stepsMax: steps)
            try rig.sync(b, stepsMax: steps)
        }
        for log in [a, b, a] { try rig.sync(log) }
        #expect(try a.notes() == b.notes() && a.notes().count == 40)
    }

    /// livestore#1532, powersync-sqlite-core#162: the cursor is stored without the events, or the
    /// events without the cursor, and the store can no longer sync.
    @Test(arguments: 0..<8)
    func interruptionAtAnyRequestLosesNothing(step: Int) throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        for number in 0..<10 { try a.note("a\(number)") }
        try rig.sync(a)
        try b.note("b")
        for fate in [SyncRig.Fate.isLost, .answerIsLost] {
            try rig.sync(b, stepsMax: step + 1) { number, _ in number == step ? fate : .arrives }
            b.close()
            let again = try EventLog(opening: rig.path("b"), options: .init(now: rig.clock.now))
            try rig.sync(again)
            #expect(try again.notes().count == 11)
            again.close()
            let next = try EventLog(opening: rig.path("b"), options: .init(now: rig.clock.now))
            try rig.sync(next)
            #expect(try next.verify().problems.isEmpty)
            next.close()
            return
        }
    }

    /// powersync-kotlin#340, powersync-native#15: a failed upload is not repeated until the user
    /// writes something.
    @Test func failedPushesAreRetriedAutomatically() throws {
        let rig = SyncRig()
        let a = try rig.store("a")
        try a.note("1")
        let done = try rig.sync(a) { number, _ in number < 7 ? .isLost : .arrives }
        #expect(done.report.pushed == 1 && done.report.failure == nil)
        #expect(done.waits.count == 7)
        #expect(done.waits.allSatisfy { $0.reason == .offline && $0.until > 0 })
    }

    /// A push that arrives is counted, although its response is lost or altered.
    @Test(arguments: [ErrorCode.altered, .offline], [1, 2])
    func pushesWithoutAValidResponseAreCounted(_ code: ErrorCode, times: Int) throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        for number in 0..<3 { try b.note("b\(number)") }
        try rig.sync(b)
        for number in 0..<5 { try a.note("a\(number)") }
        var pushes = 0
        let done = try rig.sync(a) { _, request in
            guard case .push = request else { return .arrives }
            pushes += 1
            guard pushes <= times else { return .arrives }
            _ = rig.answer(request)
            return .fails(SyncFailure(code, "no valid response"))
        }
        #expect(done.report.failure == nil && done.report.waitingCount == 0)
        #expect(done.report.pushed == 5 && done.report.pulled == 3)
        #expect(try rig.sync(a).report.pushed == 0)
        // A push that never arrives is counted only when it is repeated.
        try a.note("last")
        let lost = try rig.sync(a) { number, request in
            if case .push = request, number < 4 { return .isLost }
            return .arrives
        }
        #expect(lost.report.pushed == 1)
    }

    /// sqlite-data#432, #492: records vanish after transient errors while sync reports success.
    @Test func transientErrorsAreNotReportedAsSuccess() throws {
        let rig = SyncRig()
        let a = try rig.store("a")
        try a.note("1")
        let done = try rig.sync(a) { _, _ in .fails(SyncFailure(.unavailable, "busy")) }
        #expect(done.report.failure?.code == .unavailable)
        #expect(done.report.waitingCount == 1 && done.report.waiting.first?.reason == .unavailable)
        let status = try #require(try SyncStatus.all(in: a).first)
        #expect(status.state == .waiting && status.undelivered == 1)
        try rig.sync(a)
        #expect(try SyncStatus.all(in: a).first?.state == .upToDate)
    }

    /// evolu#709: if a device's clock is ahead, the other devices adopt its time, or reject the
    /// device if it is too far ahead.
    @Test func fastClocksNeitherBlockOthersNorWin() throws {
        let rig = SyncRig()
        let fast = try rig.store("fast", now: { 2_200_000_000_000 })
        let right = try rig.store("right")
        let early = try fast.note("from 2039")
        try rig.sync(fast)
        try rig.sync(right)
        let found = try #require(try right.event(early))
        #expect(try right.standing(of: found).effectiveStamp.milliseconds <= rig.clock.milliseconds)
        let next = try right.note("now")
        let stamp = try #require(try right.event(next)).stamp.milliseconds
        #expect(stamp <= rig.clock.milliseconds + 1)
        try rig.sync(right)
        try rig.sync(fast)
        #expect(try fast.notes() == right.notes())
    }

    /// evolu#660: after a relay has been wiped, data is acknowledged but dropped.
    @Test func wipedServersAreRestoredByTheNextDevice() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        for number in 0..<5 { try a.note("a\(number)") }
        for log in [a, b] { try rig.sync(log) }
        let receipts = try b.receipts(of: EventID(origin: a.origin, sequence: 2))
        rig.server.wipe()
        try b.note("b")
        // The device that created most of the events is offline. The other device has these events,
        // with receipts from the server before it was wiped.
        try rig.sync(b)
        let c = try rig.store("c")
        try rig.sync(c)
        #expect(try c.notes().count == 6)
        let seeded = try c.receipts(of: EventID(origin: a.origin, sequence: 2))
        #expect(Set(receipts).isSubset(of: seeded))
        try rig.sync(a)
        try rig.sync(b)
        #expect(try a.notes() == b.notes())
    }

    /// actuali#188: a client adopts the server's digest and reports a match that it never checked.
    @Test func anotherLogWithTheSameHeadIsDetected() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        try a.note("1")
        try rig.sync(a)
        let image = rig.server.image
        try a.note("2")
        try rig.sync(a)
        rig.server.restore(image)
        // Another event takes the position of the lost event.
        try b.note("3")
        try rig.sync(b)
        for log in [a, b, a] { try rig.sync(log) }
        #expect(try a.notes() == ["1", "2", "3"] && b.notes() == ["1", "2", "3"])
    }

    /// The server was restored from a backup, and the connection ends before the new lineage is read.
    @Test func reportAndOutboxCountTheSameEvents() throws {
        let rig = SyncRig()
        let a = try rig.store("a")
        for number in 1...3 { try a.note("\(number)") }
        try rig.sync(a)
        let image = rig.server.image
        for number in 4...5 { try a.note("\(number)") }
        try rig.sync(a)
        rig.server.restore(image)
        try a.note("6")
        let done = try rig.sync(a) { _, request in
            switch request {
            case .push, .pull: .isLost
            default: .arrives
            }
        }
        #expect(done.report.failure?.code == .offline && done.report.waitingCount == 6)
        #expect(try SyncStatus.all(in: a).first?.undelivered == 6)
        #expect(try EventDelivery.undelivered(to: "server", in: a, limit: 10).count == 6)
    }

    /// waves#671: a refusal deletes the user's work.
    @Test func refusedEventsStayVisibleAndBlockNothing() throws {
        let rig = SyncRig { $0.id.sequence == 2 ? ErrorCode(rawValue: "policy") : nil }
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        for number in 1...3 { try a.note("\(number)") }
        let done = try rig.sync(a)
        let refused = EventID(origin: a.origin, sequence: 2)
        #expect(done.report.refused == [.init(event: refused, code: ErrorCode(rawValue: "policy"))])
        try rig.sync(b)
        for log in [a, b] {
            #expect(try log.notes() == ["1", "2", "3"])
            let event = try #require(try log.event(refused))
            #expect(try log.standing(of: event).isRefused)
        }
        #expect(try SyncStatus.all(in: a).first?.state == .upToDate)
        // The refusal is reported once.
        #expect(try rig.sync(a).report.refused.isEmpty)
    }

    /// hercycle-ai#313: a 401 is treated as final and destroys pending changes.
    @Test func expiredTokensLoseNothing() throws {
        let rig = SyncRig()
        let a = try rig.store("a")
        try a.note("1")
        let done = try rig.sync(a) { _, _ in .fails(SyncFailure(.unauthorized, "expired")) }
        #expect(done.report.failure?.code == .unauthorized && done.requests.count == 1)
        #expect(try rig.sync(a).report.pushed == 1)
    }

    /// boardsesh#5305: a local error after the server has accepted the change is treated as a
    /// failure of the server.
    @Test func acceptedEventsAreNotSentAgain() throws {
        let rig = SyncRig()
        let a = try rig.store("a")
        try a.note("1")
        try rig.sync(a, stepsMax: 2) { number, _ in number == 1 ? .answerIsLost : .arrives }
        let again = try rig.sync(a)
        #expect(again.report.pushed == 0)
        #expect(try rig.server.head(of: rig.space).position == 1)
        #expect(try SyncStatus.all(in: a).first?.undelivered == 0)
    }

    /// WatermelonDB#1264: records that become accessible later are older than the last pull and
    /// never arrive.
    @Test func eventsOlderThanTheCursorArrive() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        let old = try rig.store("old", now: { 1_000_000_000_000 })
        try old.note("2001")
        try a.note("a")
        for log in [a, b] { try rig.sync(log) }
        try rig.sync(old)
        try rig.sync(b)
        #expect(try b.notes() == ["2001", "a"])
    }

    /// Ditto's tombstone window: a device that returns after years restores deleted records, or is
    /// refused.
    @Test func devicesThatReturnAfterYearsSyncNormally() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        try a.note("1")
        for log in [a, b] { try rig.sync(log) }
        try b.note("written offline")
        rig.clock.advance(by: .seconds(3 * 365 * 86_400))
        for number in 0..<50 { try a.note("later \(number)") }
        try rig.sync(a)
        let done = try rig.sync(b)
        #expect(done.report.pushed == 1 && done.report.pulled == 50)
        try rig.sync(a)
        #expect(try a.notes() == b.notes())
    }

    /// livestore#353, PR#1582: one malformed event stops pulling for all devices.
    @Test func unknownEventTypesAreStoredAndPassedOn() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        try a.appendBlocking([
            ProposedEvent(type: "FromTheFuture", schemaVersion: 99, tags: [], payload: [0xFF, 0])
        ])
        try a.note("1")
        for log in [a, b] { try rig.sync(log) }
        #expect(try b.events(after: .start).map(\.type) == ["FromTheFuture", "Noted"])
    }

    /// livestore#1064, #416: the latest writes are lost when the app ends.
    @Test func eventsAppendedDuringASyncAreDeliveredByTheNext() throws {
        let rig = SyncRig()
        let (a, b) = (try rig.store("a"), try rig.store("b"))
        try a.note("1")
        var isNoted = false
        try rig.sync(a) { number, _ in
            if number == 1, !isNoted {
                isNoted = true
                _ = try? a.note("in between")
            }
            return .arrives
        }
        a.close()
        let again = try EventLog(opening: rig.path("a"), options: .init(now: rig.clock.now))
        try rig.sync(again)
        try rig.sync(b)
        #expect(try b.notes() == ["1", "in between"])
    }
}
