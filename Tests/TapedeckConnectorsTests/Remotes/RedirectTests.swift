import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// A remote's redirects, and the waits that a remote requests.
@Suite(.offTasks) struct RedirectTests {
    private static func answer(
        _ status: Int, _ headers: (String, String)..., body: String = ""
    ) -> RemoteResponse {
        RemoteResponse(
            status: status, headers: headers.map { RemoteRequest.Field($0.0, $0.1) },
            body: Array(body.utf8))
    }

    /// A captive portal answers all requests until the user has signed in to the network.
    @Test(arguments: ["redirect", "page"])
    func captivePortalsCauseNoRefusals(kind: String) throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        try device.append(
            ShelbyV1Rig.liked(video, true), ShelbyV1Rig.comment(video, "hello"),
            ShelbyV1Rig.watched(video, to: 10))
        let portal =
            kind == "redirect"
            ? Self.answer(302, ("Location", "http://portal.example/login"))
            : Self.answer(200, ("Content-Type", "text/html"), body: "<html>Sign in</html>")
        rig.world.portal = { _ in portal }
        let report = try #require(try device.sync(failuresMax: 3))
        #expect(report.refused.isEmpty)
        #expect(report.failure?.code == (kind == "redirect" ? .redirected : .unavailable))
        #expect(try device.outbox().count == 3)
        rig.world.portal = nil
        rig.world.clock.advance(by: .seconds(60))
        try device.sync()
        #expect(try device.outbox().isEmpty)
        for kind in [SimulatorEffect.Kind.like, .comment, .watched] {
            #expect(try rig.effects(kind).count == 1)
        }
    }

    /// The captive portal appears after the pages are read and before the deliveries.
    @Test func redirectedWritesStayPending() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        try device.append(
            ShelbyV1Rig.comment(video, "hello"), ShelbyV1Rig.shared(video, "look"))
        rig.world.portal = { request in
            request.method == "GET"
                ? nil : Self.answer(302, ("Location", "https://portal.example/"))
        }
        let report = try #require(try device.sync())
        #expect(report.refused.isEmpty)
        #expect(Set(report.waiting.map(\.reason)) == [.redirected])
        rig.world.portal = nil
        rig.world.clock.advance(by: .seconds(600))
        try device.sync()
        #expect(try device.outbox().isEmpty)
        #expect(try rig.effects(.comment).count == 1)
        #expect(try rig.effects(.share).count == 1, "a share to another server was never sent")
    }

    @Test func readsFollowRedirectsOnTheSameServer() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        let account = try rig.account()
        rig.world.portal = { request in
            request.path == "/dashboard"
                ? Self.answer(301, ("Location", "/v1/user/\(account.id)/dashboard?limit=50")) : nil
        }
        let report = try #require(try device.sync())
        #expect(report.failure == nil)
        #expect(report.pulled > 0)
        #expect(rig.world.simulator.violations.isEmpty)
    }

    @Test func endlessRedirectsEndTheSync() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        rig.world.portal = { request in
            request.method == "GET" ? Self.answer(302, ("Location", "/v1\(request.path)")) : nil
        }
        let report = try #require(try device.sync(failuresMax: 3))
        #expect(report.failure?.code == .redirected)
        #expect(rig.world.requests.count < 30)
    }

    // MARK: - Waits

    @Test func longWaitsEndTheSync() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let end = rig.world.clock.milliseconds + 3_600_000
        for wait in ["3600", RemoteWorld.date(end)] {
            rig.world.portal = { _ in Self.answer(503, ("Retry-After", wait)) }
            let report = try #require(try device.sync())
            #expect(report.failure?.code == .unavailable)
            let until = try #require(report.until)
            #expect(until > end - 60_000 && until < end + 60_000)
            rig.world.portal = nil
            // A second sync before the wait has ended sends no requests.
            let before = rig.world.requests.count
            let again = try #require(try device.sync())
            #expect(again.until == until)
            #expect(rig.world.requests.count == before)
        }
        rig.world.clock.set(milliseconds: end + 60_000)
        let report = try #require(try device.sync())
        #expect(report.failure == nil && report.until == nil)
    }

    @Test func shortWaitsDelayTheSync() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        var isFirst = true
        rig.world.portal = { _ in
            defer { isFirst = false }
            return isFirst ? Self.answer(503, ("Retry-After", "20")) : nil
        }
        let report = try #require(try device.sync())
        #expect(report.failure == nil && report.until == nil)
    }

    /// A failed sync does not use up the attempts of the next sync.
    @Test func everySyncTriesThreeTimes() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        rig.world.portal = { _ in Self.answer(500) }
        for _ in 1...3 {
            let before = rig.world.requests.count
            try device.sync(failuresMax: 3)
            #expect(rig.world.requests.count == before + 3)
        }
    }
}
