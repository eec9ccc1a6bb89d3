import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Live lists report why a remote cannot be reached and when the next attempt is made.
@Suite(.offTasks) struct LiveRemotesTests {
    private let desk: WhaleDesk

    init() throws { desk = try WhaleDesk() }

    private var store: TapedeckStore { desk.device.store }

    private func follow<Entry>(_ list: LiveList<Entry>) -> LiveLoop<Entry> {
        LiveLoop(store.projections, list, RemoteWaits(store.log))
    }

    @Test func listsReportAnUnavailableRemoteAndItsRetryTime() throws {
        try desk.device.sync()
        let (users, videos) = (follow(.users()), follow(.videos()))
        #expect(try users.look()?.state == LiveState())
        #expect(try videos.look()?.state == LiveState())
        var session = try #require(try desk.device.session(isLive: true))
        guard case .send = try session.begin(),
            case .wait(let wait) = try session.failed(SyncFailure(.unavailable, "503 for now"))
        else {
            Issue.record("the session does not wait")
            return
        }
        let update = try #require(try users.look())
        #expect(update.changes.isEmpty)
        let failure = try #require(update.state.failures.first)
        #expect(failure.remote == "home" && failure.code == .unavailable)
        #expect(failure.message.contains("503 for now") && failure.key == nil)
        #expect(update.state.retryAt == Int64(wait.until) && failure.retryAt == Int64(wait.until))
        #expect(try videos.look() == nil, "no remote provides videos")
        // Once the retry is due, the time of the next retry is unknown.
        desk.world.clock.set(milliseconds: wait.until)
        #expect(try users.look()?.state.failures.map(\.retryAt) == [nil])
        try desk.device.sync()
        #expect(try users.look()?.state == LiveState())
    }

    @Test func listsReportThatTheNetworkIsOffline() throws {
        try desk.device.sync()
        let answers = follow(.answers())
        #expect(try answers.look()?.state == LiveState())
        try NetworkState.offline.set(in: store.log)
        let update = try #require(try answers.look())
        #expect(update.state.failures.map(\.code) == [.offline])
        #expect(update.state.retryAt == nil)
        try NetworkState.online.set(in: store.log)
        #expect(try answers.look()?.state == LiveState())
        try StoreRemotes(store.log, store.projections).remove("home")
        try NetworkState.offline.set(in: store.log)
        #expect(try answers.look() == nil, "the remote was removed")
    }

    @Test func waitingLanesAreReportedByListsThatShowTheirKey() throws {
        try desk.device.sync()
        let first = follow(try .comments(answer: "1"))
        let second = follow(try .comments(answer: "2"))
        let all = follow(.answers())
        let newest = follow(.answers(limit: 1))
        #expect(try first.look()?.state == LiveState())
        #expect(try second.look()?.state == LiveState())
        #expect(try all.look()?.state == LiveState())
        #expect(try newest.look()?.changes.count == 1)
        try desk.comment("as ever", on: "1")
        // The remote fails on this one request and accepts all other requests.
        var session = try #require(try desk.device.session())
        var step = try session.begin()
        var waiting: UInt64?
        while waiting == nil, case .send(let request) = step {
            if request.method == "POST", request.path.contains("comment") {
                _ = try session.failed(SyncFailure(.unavailable, "503 for this"))
                waiting = desk.world.clock.milliseconds
            } else {
                step = try session.answered(try desk.world.send(request))
            }
        }
        _ = try #require(waiting, "the comment was not sent")
        for state in [try first.look()?.state, try all.look()?.state] {
            let failure = try #require(state?.failures.first)
            #expect(failure.remote == "home" && failure.key == "answer/1")
            #expect(failure.code == .unavailable)
            #expect(failure.retryAt ?? 0 > Int64(waiting ?? .max))
        }
        #expect(try second.look() == nil)
        #expect(try newest.look() == nil)
        try desk.settle()
        #expect(try first.look()?.state == LiveState())
        #expect(try all.look()?.state == LiveState())
    }

    @Test func storeLoopsReportNetworkChanges() async throws {
        try desk.device.sync()
        let store = store
        var updates = store.live(.users()).makeAsyncIterator()
        #expect(try await updates.next()?.state == LiveState())
        try await store.setNetwork(.offline)
        #expect(try await updates.next()?.state.failures.map(\.remote) == ["home"])
        try await store.setNetwork(.online)
        #expect(try await updates.next()?.state == LiveState())
    }
}
