import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Syncing with a remote while the network is metered or offline.
@Suite(.offTasks) struct RemoteNetworkTests {
    private let desk: WhaleDesk

    init() throws { desk = try WhaleDesk() }

    private var log: EventLog { desk.device.store.log }

    private var uploads: Int {
        desk.world.requests.count {
            if case .parts = $0.body { true } else { false }
        }
    }

    /// Returns the reason why an intent is waiting; nil if it is not waiting.
    private func reason(_ event: EventID) throws -> ErrorCode? {
        for delivery in try desk.device.outbox() where delivery.event.id == event {
            if case .waiting(let reason, _, _) = delivery.state { return reason }
        }
        return nil
    }

    @Test func meteredNetworksDelayOnlyUploads() throws {
        try NetworkState.metered.set(in: log)
        let answer = try desk.answer("4")
        let comment = try desk.comment("as ever")
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil)
        #expect(report.waiting.map(\.event) == [answer] && report.waiting.first?.reason == .metered)
        #expect(try reason(answer) == .metered)
        #expect(try reason(comment) == nil)
        #expect(try desk.texts() == ["nice", "as ever"])
        #expect(uploads == 0)
        // In each sync, the intent waits and no request is sent.
        let requests = desk.world.requests.count
        #expect(try desk.device.sync()?.waiting.first?.reason == .metered)
        #expect(!desk.world.requests.dropFirst(requests).contains { $0.method == "POST" })
        try NetworkState.online.set(in: log)
        #expect(try reason(answer) == nil, "the next sync sends it")
        try desk.settle()
        #expect(uploads == 1)
        #expect(try desk.device.outbox().isEmpty)
        #expect(desk.world.simulator.violations.isEmpty)
    }

    @Test func nothingIsSentWhileOffline() throws {
        try desk.device.sync()
        let requests = desk.world.requests.count
        try NetworkState.offline.set(in: log)
        let comment = try desk.comment("later")
        #expect(try desk.device.sync()?.failure?.code == .offline)
        #expect(desk.world.requests.count == requests)
        #expect(try reason(comment) == .offline)
        #expect(try desk.device.status().reason == .offline)
        try NetworkState.online.set(in: log)
        #expect(try desk.device.status().reason == nil)
        try desk.settle()
        #expect(try desk.texts() == ["nice", "later"])
    }

    /// A live session notices changes to the network state.
    @Test func liveSessionFollowsNetworkChanges() throws {
        try NetworkState.offline.set(in: log)
        var session = try #require(try desk.device.session(isLive: true))
        guard case .wait(let wait) = try session.begin() else {
            return #expect(Bool(false), "the session begins without a network")
        }
        #expect(wait.reason == .offline && wait.until > desk.world.clock.milliseconds)
        desk.world.clock.set(milliseconds: wait.until)
        guard case .wait = try session.woken() else {
            return #expect(Bool(false), "the session continues without a network")
        }
        try NetworkState.metered.set(in: log)
        let answer = try desk.answer("4")
        try run(&session)
        #expect(try reason(answer) == .metered && uploads == 0)
        try NetworkState.online.set(in: log)
        try run(&session)
        #expect(uploads == 1)
    }

    /// Drives a session until it has been idle several times.
    private func run(_ session: inout RemoteSession) throws {
        var step = try session.woken()
        var rests = 0
        while rests < 5 {
            switch step {
            case .send(let request):
                step = try session.answered(try desk.world.send(request))
            case .wait(let wait), .pause(let wait):
                desk.world.clock.set(milliseconds: max(desk.world.clock.milliseconds, wait.until))
                step = try session.woken()
            case .idle(let until):
                rests += 1
                desk.world.clock.set(milliseconds: max(desk.world.clock.milliseconds, until))
                step = try session.woken()
            case .end: return
            }
        }
    }
}
