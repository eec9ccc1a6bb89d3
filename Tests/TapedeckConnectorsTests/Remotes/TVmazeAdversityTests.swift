import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// TVmaze failures and crashes: all readable pages are read, and the remaining pages are requested
/// again.
@Suite(.offTasks) struct TVmazeAdversityTests {
    private static let tuesday = "2019-07-09T16:00:00Z"

    private func desk(_ shows: Int = 3) throws -> TVmazeDesk {
        try TVmazeDesk(
            at: Self.tuesday,
            try TVmazeDesk.shows(shows, on: "2019-07-13", at: "2019-07-14T00:00:00Z"))
    }

    /// Returns a predicate that matches the requests for a day.
    private func isFor(_ date: String) -> (RemoteRequest) -> Bool {
        { $0.query.contains { $0.value == date } }
    }

    private func failing(
        _ desk: TVmazeDesk, _ fits: @escaping (RemoteRequest) -> Bool,
        _ change: @escaping (inout SimulatorAdversary) -> Void = { $0.serverErrorRate = 1 }
    ) {
        desk.world.weather = { request in
            guard fits(request) else { return nil }
            var adversary = desk.world.simulator.adversary
            change(&adversary)
            return adversary
        }
    }

    // MARK: - One page

    @Test(arguments: [true, false])
    func failingDaysDoNotBlockOtherPages(isCut: Bool) throws {
        let desk = try desk()
        failing(desk, isFor("2019-07-10")) {
            if isCut { $0.cutBeforeRate = 1 } else { $0.serverErrorRate = 1 }
        }
        let report = try #require(try desk.device.sync(failuresMax: 3))
        #expect(report.failure == nil)
        #expect(report.unreadable.count == 1)
        #expect(report.unreadable.first?.hasPrefix("schedule/US/wednesday 2019-07-10: ") == true)
        #expect(try desk.shown()["2019-07-13"] == [1, 2, 3])
        #expect(try desk.cast(3) == ["Ada 3"])
        #expect(Set(desk.asked()).count == 7 + 3)
        #expect(desk.asked().count { $0 == "US 2019-07-10" } == 3)
        #expect(try desk.device.status().readAt == nil, "not everything has been read")
        // The other days are fresh; only the failed day is requested.
        desk.world.weather = nil
        let first = desk.world.requests.count
        #expect(try desk.device.sync()?.fresh == 6)
        #expect(desk.asked(from: first) == ["US 2019-07-10"])
        #expect(try desk.device.status().isUpToDate)
    }

    @Test func failureOfTheLastPageIsReported() throws {
        let desk = try desk()
        failing(desk) { $0.path == "/shows/3/cast" }
        let report = try #require(try desk.device.sync(failuresMax: 3))
        #expect(report.failure?.code == .unavailable)
        #expect(report.unreadable.first?.hasPrefix("shows/3/cast: ") == true)
        #expect(report.unread == 1)
        #expect(try desk.shown()["2019-07-13"] == [1, 2, 3])
        #expect(try desk.cast(2) == ["Ada 2"])
        desk.world.weather = nil
        try desk.device.sync()
        #expect(try desk.cast(3) == ["Ada 3"])
    }

    @Test func requestsAnsweredByACaptivePortalAreRepeated() throws {
        let desk = try desk()
        var portals = 0
        var session = try #require(try desk.device.session())
        var step = try session.begin()
        while true {
            switch step {
            case .send(let request):
                let isPortal = portals == 0
                portals += 1
                // The response comes from a captive portal, for example in a hotel.
                step = try session.answered(
                    isPortal
                        ? RemoteResponse(status: 200, body: Array("<html>".utf8))
                        : try desk.world.send(request))
                continue
            case .wait(let wait), .pause(let wait):
                desk.world.clock.set(milliseconds: wait.until)
                step = try session.woken()
                continue
            default: break
            }
            break
        }
        #expect(session.report.unreadable.isEmpty && session.report.failure == nil)
        #expect(try desk.shown()["2019-07-13"] == [1, 2, 3])
    }

    // MARK: - The entire remote

    @Test func syncStopsIfTheRemoteIsUnavailable() throws {
        let desk = try desk()
        failing(desk, { _ in true })
        let report = try #require(try desk.device.sync(failuresMax: 3))
        #expect(report.failure?.code == .unavailable)
        #expect(report.failure?.hint?.contains("try again later") == true)
        #expect(desk.world.requests.count == 3)
        #expect(try desk.device.status().reason == .unavailable)
        desk.world.weather = nil
        desk.wait(.seconds(60))
        #expect(try desk.device.sync()?.failure == nil)
        #expect(try desk.device.status().isUpToDate)
    }

    @Test func throttledSyncWaitsAsLongAsRequested() throws {
        let desk = try desk()
        try desk.change { $0.adversary.quotaMax = 4 }
        var times: [UInt64] = []
        let report = try #require(
            try desk.device.sync { _ in times.append(desk.world.clock.milliseconds) })
        #expect(report.failure == nil && report.unreadable.isEmpty)
        // In each window of ten seconds, four requests succeed and the next request is throttled.
        #expect(times.count > 10)
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 < 15_000 })
        #expect(zip(times.dropFirst(5), times).allSatisfy { $0 > $1 + 4_000 })
        #expect(try desk.shown()["2019-07-13"] == [1, 2, 3])
    }

    @Test func status403MeansUnavailableNotUnauthorized() throws {
        let desk = try desk()
        var session = try #require(try desk.device.session(failuresMax: 3))
        guard case .send = try session.begin() else { return #expect(Bool(false)) }
        var step = try session.answered(RemoteResponse(status: 403))
        while true {
            switch step {
            case .send: step = try session.answered(RemoteResponse(status: 403))
            case .wait(let wait), .pause(let wait):
                #expect(wait.reason == .unavailable)
                desk.world.clock.set(milliseconds: wait.until)
                step = try session.woken()
            case .idle:
                Issue.record("the session idles")
                return
            case .end(let failure):
                #expect(failure?.code == .unavailable)
                return
            }
        }
    }

    // MARK: - Crashes and harsh conditions

    @Test(arguments: Soak.sample(Array(1...12), 4))
    func crashesLoseNothing(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let desk = try desk(5)
            try desk.device.sync(crashing: point)
            let asked = desk.asked()
            let report = try #require(try desk.device.sync())
            #expect(report.failure == nil && report.unread == 0, "\(point)")
            #expect(try desk.shown()["2019-07-13"] == [1, 2, 3, 4, 5], "\(point)")
            for show in 1...5 { #expect(try desk.cast(show) == ["Ada \(show)"], "\(point)") }
            // Pages read before the crash are fresh, so only the last request may be repeated.
            #expect(desk.asked().count <= 12 + 1, "\(point): \(asked)")
            #expect(desk.world.simulator.violations.isEmpty)
        }
    }

    @Test func storeMatchesTheRemoteAfterHarshConditions() throws {
        let first = runSeed
        for seed in first..<first + UInt64(Soak.count(4, soak: 100)) {
            var weather = SimulatorAdversary.harsh
            weather.othersMilliseconds = 600_000
            weather.deletionRate = 0.3
            let desk = try TVmazeDesk(["US", "GB", "web"], weather, seed: seed, at: Self.tuesday)
            for _ in 0..<12 {
                try desk.device.sync(failuresMax: 3)
                desk.wait(.seconds(5_400))
            }
            #expect(desk.world.simulator.violations.isEmpty, "TAPEDECK_SEED=\(seed)")
            desk.world.simulator.adversary = .none
            try desk.device.sync(refreshesAll: true)
            try desk.checkShown("US", "TAPEDECK_SEED=\(seed)")
            try desk.checkShown("GB", "TAPEDECK_SEED=\(seed)")
        }
    }
}
