import TapedeckModel
@testable import TapedeckSync
import TapedeckSyncProtocol
import TapedeckTesting
import Testing

/// The decisions that a sync makes, tested without a log or a server.
struct SyncStateTests {
    private static let own = OriginID(high: 1, low: 1)
    private static let other = OriginID(high: 2, low: 2)
    private static let lineage = LineageID(high: 9, low: 9)
    private var random = SeededGenerator(seed: 1)
    private var state = SyncState(.init(isLive: true, failuresMax: 0, backoffMax: 8_000))
    private var local = SyncState.Local(
        own: SyncStateTests.own, lastSequences: [SyncStateTests.own: 5],
        cursor: SyncCursor(SyncStateTests.lineage))

    private mutating func give(_ input: SyncState.Input, now: UInt64 = 0) -> SyncState.Action {
        state.handle(input, local, now: now, &random)
    }

    private func shaken(
        head: UInt64 = 0, _ last: [OriginID: UInt64] = [:]
    ) -> SyncState.Input {
        .shaken(lineage: SyncStateTests.lineage, head: head, lastSequences: last)
    }

    private mutating func begin(
        head: UInt64 = 0, _ last: [OriginID: UInt64] = [:]
    ) -> SyncState.Action {
        #expect(give(.begin) == .shake)
        return give(shaken(head: head, last))
    }

    @Test mutating func eventsMissingOnTheServerArePushed() {
        guard case .push = begin() else { return #expect(Bool(false), "\(state.phase)") }
        #expect(give(.pushed([SyncStateTests.own: 5], nil)) == .listen)
    }

    @Test mutating func pushesAndPullsAlternate() {
        var turns: [String] = []
        var action = begin(head: 100)
        for _ in 0..<6 {
            switch action {
            case .push:
                turns.append("push")
                action = give(.pushed([SyncStateTests.own: UInt64(turns.count)], nil))
            case .pull:
                turns.append("pull")
                action = give(.pulled(head: 100, [:]))
            default: turns.append("\(action)")
            }
        }
        #expect(turns == ["push", "pull", "push", "pull", "push", "pull"])
    }

    /// A one-time sync ends after repeated push failures, even if pulls succeed in between.
    @Test mutating func repeatedlyFailingPushesEndAOneTimeSync() {
        state = SyncState(.init(failuresMax: 3, backoffMax: 8_000))
        local.cursor = SyncCursor(
            SyncStateTests.lineage, position: 3, digest: SyncDigest())
        var action = give(.begin)
        for turn in 0..<40 {
            switch action {
            case .shake: action = give(shaken(head: 3))
            case .pull: action = give(.pulled(head: 3, [:]))
            case .push: action = give(.failed(SyncFailure(.altered, "")))
            case .wait: action = give(.woken)
            case .end(let failure): return #expect(failure?.code == .altered && turn < 20)
            default: return #expect(Bool(false), "\(action)")
            }
        }
        #expect(Bool(false), "the sync never ends")
    }

    @Test mutating func everyFailureSetsATimer() {
        for code in [ErrorCode.offline, .throttled, .unavailable, .internalError, .unauthorized] {
            _ = give(.woken)
            guard case .wait(let wait) = give(.failed(SyncFailure(code, "")), now: 50) else {
                return #expect(Bool(false), "\(code): \(state.phase)")
            }
            #expect(wait.reason == code && wait.until > 50)
        }
        #expect(give(.woken) == .shake)
    }

    @Test mutating func nothingIsSentWithoutANetwork() {
        local.network = .offline
        guard case .wait(let wait) = give(.begin, now: 50) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(wait.reason == .offline && wait.until > 50)
        guard case .wait = give(.woken, now: wait.until) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        local.network = .metered
        #expect(give(.woken) == .shake)
        local.network = .offline
        guard case .wait = give(shaken()) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        state = SyncState(.init(isLive: false))
        guard case .end(let failure) = give(.begin) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(failure?.code == .offline)
    }

    @Test mutating func waitsGrowToTheMaximumAndSuccessResetsThem() {
        _ = give(.begin)
        var waits: [UInt64] = []
        for _ in 0..<40 {
            guard case .wait(let wait) = give(.failed(SyncFailure(.offline, ""))) else { return }
            waits.append(wait.until)
            _ = give(.woken)
        }
        #expect(waits.allSatisfy { (500...8_000).contains($0) })
        #expect(waits.max() ?? 0 > 2_000)
        _ = give(shaken(head: 0, [SyncStateTests.own: 5]))
        guard case .wait(let wait) = give(.failed(SyncFailure(.offline, ""))) else { return }
        #expect(wait.until == 500)
    }

    @Test mutating func retryAfterFromTheServerIsRespected() {
        _ = give(.begin)
        let failure = SyncFailure(.throttled, "", retryAfter: 60_000)
        guard case .wait(let wait) = give(.failed(failure), now: 1_000) else {
            return #expect(Bool(false))
        }
        #expect(wait.until == 61_000)
    }

    /// A one-time sync ends instead of waiting for hours.
    @Test(arguments: [30_000, 30_001, .max] as [UInt64])
    mutating func longWaitsEndAOneTimeSync(retryAfter: UInt64) {
        state = SyncState(.init(isLive: false, waitMax: 30_000))
        _ = give(.begin)
        let failure = SyncFailure(
            .unavailable, "", retryAfter: min(retryAfter, 86_400_000))
        switch give(.failed(failure), now: 1_000) {
        case .wait(let wait): #expect(retryAfter == 30_000 && wait.until == 31_000)
        case .end(let failure):
            #expect(retryAfter > 30_000 && failure?.code == .unavailable)
            #expect(state.refusedUntil == 1_000 + min(retryAfter, 86_400_000))
        default: #expect(Bool(false), "\(state.phase)")
        }
        // A sync that begins before the requested wait has ended sends nothing.
        let asked = SyncWait(reason: .unavailable, message: "", until: 90_000, isAsked: true)
        state = SyncState(.init(isLive: false, waitMax: 30_000))
        guard case .end = give(.asked(asked), now: 50_000) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        state = SyncState(.init(isLive: true))
        #expect(give(.asked(asked), now: 50_000) == .wait(asked))
        #expect(give(.woken, now: 90_000) == .shake)
    }

    @Test mutating func batchesThatAreTooLargeAreHalved() {
        guard case .push(let first) = begin() else { return #expect(Bool(false)) }
        guard case .push(let second) = give(.failed(SyncFailure(.tooLarge, ""))) else {
            return #expect(Bool(false))
        }
        #expect(second == first / 2)
    }

    /// Only pushes have a size that can be halved.
    ///
    /// If another request is too large, the server has received an altered body.
    @Test mutating func otherRequestsThatAreTooLargeAreSentAgain() {
        state = SyncState(.init(failuresMax: 3, backoffMax: 8_000))
        local.hasReceiptsToSeed = true
        #expect(begin(head: 0, [SyncStateTests.own: 5]) == .seed)
        guard case .wait = give(.failed(SyncFailure(.tooLarge, ""))) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(give(.woken) == .shake)
        #expect(give(shaken(head: 0, [SyncStateTests.own: 5])) == .seed)
        local.hasReceiptsToSeed = false
        #expect(give(.seeded) == .end(nil))
    }

    /// A difference that the events of the server do not have would record them again.
    @Test(arguments: [0, 4])
    mutating func falseClaimsOfAForkEndAOneTimeSync(sequence: UInt64) {
        state = SyncState(.init(failuresMax: 3, backoffMax: 8_000))
        let claim = SyncProblem(
            kind: .fork, origin: SyncStateTests.own, sequence: sequence, message: "")
        var action = give(.begin)
        for turn in 0..<200 {
            switch action {
            case .shake: action = give(shaken(head: 3, [SyncStateTests.own: 3]))
            case .pull: action = give(.pulled(head: 3, [:]))
            case .push: action = give(.pushed([:], claim))
            // The server has the same event as this device.
            case .probe(let event): action = give(.pushed([event.origin: event.sequence], nil))
            case .wait: action = give(.woken)
            case .end(let failure): return #expect(failure?.code == .altered, "turn \(turn)")
            default: return #expect(Bool(false), "\(action)")
            }
        }
        #expect(Bool(false), "the sync never ends")
    }

    /// Each claim would record all events again under another new origin.
    @Test mutating func claimsOfAForkCreateOneOriginInASync() {
        state = SyncState(.init(failuresMax: 3, backoffMax: 8_000))
        var heals = 0
        var action = give(.begin)
        for _ in 0..<200 {
            let claim = SyncProblem(kind: .fork, origin: local.own, sequence: 1, message: "")
            switch action {
            case .shake: action = give(shaken(head: 3, [local.own: 3]))
            case .pull: action = give(.pulled(head: 3, [:]))
            case .push, .probe: action = give(.pushed([:], claim))
            case .wait: action = give(.woken)
            case .heal:
                heals += 1
                local.own = OriginID(high: 3, low: UInt64(heals))
                local.lastSequences[local.own] = 5
                action = give(.mended)
            case .end(let failure): return #expect(failure?.code == .altered && heals == 1)
            default: return #expect(Bool(false), "\(action)")
            }
        }
        #expect(Bool(false), "the sync never ends")
    }

    @Test mutating func repeatedAnnouncementsOfAHeadAreIgnored() {
        guard case .listen = begin(head: 0, [SyncStateTests.own: 5]) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(give(.serverChanged(head: 0)) == .none)
        guard case .pull = give(.serverChanged(head: 1)) else {
            return #expect(Bool(false), "\(state.phase)")
        }
    }

    @Test mutating func forgottenHistoryRenewsTheOrigin() {
        #expect(begin(head: 9, [SyncStateTests.own: 9]) == .renewOrigin)
    }

    @Test mutating func headBelowTheCursorRenewsTheLineage() {
        local.cursor = SyncCursor(SyncStateTests.lineage, position: 7, digest: SyncDigest())
        #expect(begin(head: 6, [SyncStateTests.own: 5]) == .renewLineage)
    }

    @Test mutating func renewalsOfTheLineageAreLimited() {
        local.cursor = SyncCursor(SyncStateTests.lineage, position: 7, digest: SyncDigest())
        var action = begin(head: 6, [SyncStateTests.own: 5])
        var renewals = 0
        while action == .renewLineage, renewals < 100 {
            renewals += 1
            action = give(shaken(head: 6, [SyncStateTests.own: 5]))
        }
        #expect(renewals < 10)
        guard case .wait = action else { return #expect(Bool(false), "\(action)") }
    }

    @Test mutating func firstDifferenceIsFoundByBinarySearch() {
        local.lastSequences[SyncStateTests.own] = 1_000
        local.forkedOrigins = [SyncStateTests.own]
        var action = begin(head: 1_000, [SyncStateTests.own: 1_000])
        var probes = 0
        while case .probe(let event) = action, probes < 100 {
            probes += 1
            // The histories differ, starting with event 618.
            let isForked = event.sequence >= 618
            let problem = SyncProblem(
                kind: .fork, origin: event.origin, sequence: event.sequence, message: "")
            action = give(.pushed([:], isForked ? problem : nil))
        }
        #expect(action == .heal(EventID(origin: SyncStateTests.own, sequence: 618)))
        #expect(probes <= 11)
    }

    @Test mutating func failingOriginIsParkedWhileOthersContinue() {
        local.lastSequences = [SyncStateTests.own: 5, SyncStateTests.other: 3]
        _ = begin()
        let problem = SyncProblem(
            kind: .malformed, origin: SyncStateTests.own, sequence: 1, message: "no")
        guard case .push = give(.pushed([:], problem)) else { return #expect(Bool(false)) }
        let action = give(.pushed([SyncStateTests.other: 3], nil), now: 10)
        guard case .wait(let wait) = action else { return #expect(Bool(false), "\(action)") }
        #expect(wait.reason == .malformedRequest && wait.until > 10)
        // The sync retries automatically.
        #expect(give(.woken) == .shake)
        #expect(state.parked.isEmpty)
    }

    /// A server may accept nothing and not say why, or name an origin that was not pushed.
    @Test(
        arguments: [
            nil, SyncProblem(kind: .malformed, origin: other, sequence: 1, message: "no"),
            SyncProblem(kind: .gap, origin: other, sequence: 1, message: "no"),
        ] as [SyncProblem?])
    mutating func pushesWithoutProgressEndAOneTimeSync(_ problem: SyncProblem?) {
        state = SyncState(.init(failuresMax: 3, backoffMax: 8_000))
        var action = begin()
        for _ in 0..<20 {
            switch action {
            case .push: action = give(.pushed([:], problem))
            case .wait: action = give(.woken)
            case .shake: action = give(shaken())
            case .end(let failure): return #expect(failure?.code == .malformedRequest)
            default: return #expect(Bool(false), "\(action)")
            }
        }
        #expect(Bool(false), "the sync never ends")
    }

    /// Nothing would be sent any more, and the sync would report success.
    @Test mutating func gapBeyondTheOwnEventsIsNotBelieved() {
        _ = begin()
        let problem = SyncProblem(
            kind: .gap, origin: SyncStateTests.own, sequence: 1_000, message: "")
        _ = give(.pushed([:], problem))
        #expect(state.acknowledged[SyncStateTests.own] ?? 0 <= 5)
        #expect(state.parked[SyncStateTests.own] != nil)
    }

    @Test mutating func gapReportsLowerTheAcknowledgedSequence() {
        _ = begin(head: 4, [SyncStateTests.own: 4])
        let problem = SyncProblem(
            kind: .gap, origin: SyncStateTests.own, sequence: 2, message: "")
        _ = give(.pulled(head: 0, [:]))
        _ = give(.pushed([:], problem))
        #expect(state.acknowledged[SyncStateTests.own] == 1)
    }

    @Test mutating func pulledEventsAreNotPushedBack() {
        local.lastSequences = [:]
        guard case .pull = begin(head: 3, [SyncStateTests.other: 3]) else {
            return #expect(Bool(false))
        }
        local.lastSequences = [SyncStateTests.other: 5]
        local.cursor?.position = 5
        #expect(give(.pulled(head: 5, [SyncStateTests.other: 5])) == .listen)
    }

    @Test mutating func changesOnEitherSideWakeASettledSession() {
        #expect(begin(head: 0, [SyncStateTests.own: 5]) == .listen)
        local.lastSequences[SyncStateTests.own] = 6
        guard case .push = give(.localChanged) else { return #expect(Bool(false)) }
        #expect(give(.pushed([SyncStateTests.own: 6], nil)) == .listen)
        guard case .pull = give(.serverChanged(head: 1)) else { return #expect(Bool(false)) }
    }

    /// A live connection that the server refuses is opened again after the requested pause; in the
    /// meantime, the session pulls less and less often.
    @Test mutating func refusedLiveConnectionsAreReplacedByPulls() {
        #expect(begin(head: 0, [Self.own: 5]) == .listen)
        var now: UInt64 = 1_000
        var pauses: [UInt64] = []
        let failure = SyncFailure(.throttled, "", retryAfter: 60_000)
        var action = give(.liveEnded(failure), now: now)
        while case .wait(let wait) = action, pauses.count < 1_000 {
            // A plain sync needs no live connection, so it does not have to wait.
            #expect(wait.reason == .throttled && !wait.isAsked && wait.until > now)
            #expect(state.phase == .polling(wait))
            pauses.append(wait.until - now)
            now = wait.until
            #expect(give(.woken, now: now) == .shake)
            action = give(shaken(head: 0, [Self.own: 5]), now: now)
        }
        #expect(action == .listen && now == 61_000)
        #expect(pauses.first == 500 && pauses.max() ?? 0 > 2_000)
        #expect(pauses.allSatisfy { $0 <= 8_000 } && pauses.count < 60)
    }

    /// A server or proxy that ends each live connection at once is asked less and less often.
    @Test mutating func briefLiveConnectionsAreReopenedLessAndLessOften() {
        #expect(begin(head: 0, [Self.own: 5]) == .listen)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for round in 0...40 {
            // The last connection works for a while.
            if round == 40 { now += 60_000 }
            guard case .wait(let wait) = give(.liveEnded(SyncFailure(.offline, "")), now: now)
            else { return #expect(Bool(false), "\(state.phase)") }
            pauses.append(wait.until - now)
            now = wait.until
            #expect(give(.woken, now: now) == .shake)
            #expect(give(shaken(head: 0, [Self.own: 5]), now: now) == .listen)
        }
        #expect(pauses.allSatisfy { (500...8_000).contains($0) } && pauses.max() ?? 0 > 2_000)
        #expect(pauses.last == 500)
    }

    @Test mutating func changesAreDeliveredAtOnceWithoutALiveConnection() {
        #expect(begin(head: 0, [Self.own: 5]) == .listen)
        let failure = SyncFailure(.throttled, "", retryAfter: 60_000)
        guard case .wait(let wait) = give(.liveEnded(failure)) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        local.lastSequences[Self.own] = 6
        guard case .push = give(.localChanged, now: 1) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(give(.pushed([Self.own: 6], nil), now: 2) == .wait(wait))
    }

    @Test mutating func clocksThatAreSetBackDoNotStopPulls() {
        #expect(begin(head: 0, [Self.own: 5]) == .listen)
        let failure = SyncFailure(.throttled, "", retryAfter: 60_000)
        _ = give(.liveEnded(failure), now: 10_000_000)
        #expect(give(.woken, now: 1) == .shake)
        guard case .wait(let wait) = give(shaken(head: 0, [Self.own: 5]), now: 1) else {
            return #expect(Bool(false), "\(state.phase)")
        }
        #expect(wait.until <= 8_001)
        // No server can request a pause of more than a day.
        _ = give(.liveEnded(failure), now: 1_000_000_000)
        #expect(give(.woken, now: 3) == .shake)
        #expect(give(shaken(head: 0, [Self.own: 5]), now: 3) == .listen)
    }

    /// A server that was restored from a backup and has accepted other events since may have the
    /// same head.
    @Test mutating func cursorAtTheHeadIsConfirmedOncePerHandshake() {
        local.cursor = SyncCursor(
            Self.lineage, position: 7, digest: SyncCursor(Self.lineage).digest)
        guard case .pull = begin(head: 7, [Self.own: 5]) else { return #expect(Bool(false)) }
        #expect(give(.pulled(head: 7, [:])) == .listen)
        #expect(give(.serverChanged(head: 7)) == .none)
        // A server whose history differs responds with `cursorMismatch`.
        _ = give(.failed(SyncFailure(.offline, "")))
        #expect(give(.woken) == .shake)
        guard case .pull = give(shaken(head: 7, [Self.own: 5])) else {
            return #expect(Bool(false))
        }
        #expect(give(.failed(SyncFailure(.cursorMismatch, ""))) == .renewLineage)
    }

    @Test func oneTimeSyncEndsAfterTheMaximumOfFailures() {
        var random = SeededGenerator(seed: 2)
        var state = SyncState(.init(failuresMax: 3))
        let local = SyncState.Local(own: SyncStateTests.own, lastSequences: [:], cursor: nil)
        let failure = SyncFailure(.offline, "gone")
        _ = state.handle(.begin, local, now: 0, &random)
        for _ in 0..<2 {
            guard case .wait = state.handle(.failed(failure), local, now: 0, &random) else {
                return #expect(Bool(false))
            }
            #expect(state.handle(.woken, local, now: 0, &random) == .shake)
        }
        #expect(state.handle(.failed(failure), local, now: 0, &random) == .end(failure))
    }

    /// A server with a full disk responds to handshakes but accepts no pushes.
    @Test func handshakesDoNotResetTheFailureCount() {
        var random = SeededGenerator(seed: 2)
        var state = SyncState(.init(failuresMax: 3))
        let failure = SyncFailure(.diskFull, "no room")
        _ = state.handle(.begin, local, now: 0, &random)
        for _ in 0..<2 {
            guard case .push = state.handle(shaken(), local, now: 0, &random),
                case .wait = state.handle(.failed(failure), local, now: 0, &random)
            else { return #expect(Bool(false)) }
            #expect(state.handle(.woken, local, now: 0, &random) == .shake)
        }
        _ = state.handle(shaken(), local, now: 0, &random)
        #expect(state.handle(.failed(failure), local, now: 0, &random) == .end(failure))
    }

    @Test func refusedTokenEndsAOneTimeSyncAtOnce() {
        var random = SeededGenerator(seed: 2)
        var state = SyncState()
        let local = SyncState.Local(own: SyncStateTests.own, lastSequences: [:], cursor: nil)
        let failure = SyncFailure(.unauthorized, "no")
        _ = state.handle(.begin, local, now: 0, &random)
        #expect(state.handle(.failed(failure), local, now: 0, &random) == .end(failure))
    }
}
