import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Live TVmaze sessions: when they read again, and what they report in live lists.
@Suite(.offTasks) struct TVmazeWatchTests {
    /// A live session, driven in virtual time until it is idle.
    private final class Watch {
        let desk: TVmazeDesk
        private var session: RemoteSession
        private(set) var step: RemoteSession.Step

        init(_ desk: TVmazeDesk) throws {
            self.desk = desk
            session = try #require(try desk.device.session(isLive: true, failuresMax: 0))
            step = try session.begin()
        }

        /// Sends all requests that are due.
        func go() throws {
            while case .send(let request) = step {
                let answer = Result { () throws(SyncFailure) in try desk.world.send(request) }
                switch answer {
                case .success(let response): step = try session.answered(response)
                case .failure(let failure): step = try session.failed(failure)
                }
            }
        }

        /// Runs until the session is idle and returns the time of its next step; throws if it ends.
        func settle() throws -> UInt64 {
            for _ in 0..<10_000 {
                switch step {
                case .send: try go()
                case .wait(let wait), .pause(let wait): try wake(at: wait.until)
                case .idle(let until): return until
                case .end(let failure): throw failure ?? SyncFailure(.internalError, "it ended")
                }
            }
            throw SyncFailure(.internalError, "the session is never idle")
        }

        func wake(at time: UInt64) throws {
            desk.world.clock.set(milliseconds: max(desk.world.clock.milliseconds, time))
            step = try session.woken()
        }

        /// Wakes the session at the given time and returns the subjects of the requests that
        /// follow.
        func asks(at time: UInt64) throws -> [String] {
            let first = desk.world.requests.count
            try wake(at: time)
            _ = try settle()
            return desk.asked(from: first)
        }
    }

    private func midnight(_ text: String) throws -> UInt64 { UInt64(try milliseconds(text)) }

    @Test func sessionReadsAgainWhenFreshnessEnds() throws {
        let desk = try TVmazeDesk(at: "2019-07-09T16:00:00Z")
        let watch = try Watch(desk)
        let until = try watch.settle()
        #expect(try desk.device.sync()?.freshUntil == until)
        #expect(try watch.asks(at: until - 1) == [])
        // The other pages expire while the first page is requested.
        #expect(try watch.asks(at: until).count == 7)
        #expect(try watch.settle() >= until + 3_600_000)
    }

    @Test func weekChangesAtMidnightInItsZone() throws {
        // It is Sunday evening in New York.
        let desk = try TVmazeDesk(at: "2019-07-15T03:30:00Z")
        let watch = try Watch(desk)
        let turn = try midnight("2019-07-15T04:00:00Z")
        #expect(try watch.settle() == turn)
        #expect(try desk.shown().keys.min() == "2019-07-08")
        let asked = try watch.asks(at: turn)
        #expect(Array(asked.prefix(7)) == (15...21).map { "US 2019-07-\($0)" })
        #expect(try desk.shown().keys.min() == "2019-07-15")
        try desk.checkShown()
    }

    /// At midnight on other days the week does not change, and fresh pages are not requested.
    @Test func freshPagesAreNotRequestedAtMidnight() throws {
        let desk = try TVmazeDesk(at: "2019-07-10T03:30:00Z")
        let watch = try Watch(desk)
        let midnight = try midnight("2019-07-10T04:00:00Z")
        #expect(try watch.settle() == midnight)
        #expect(try watch.asks(at: midnight) == [])
        #expect(try watch.settle() > midnight)
    }

    /// The cases include weeks that span the new year, and days with no midnight or two midnights.
    @Test(arguments: [
        ("US", "2019-12-31T12:00:00Z", "2019-12-30", "2020-01-05", "2020-01-01T05:00:00Z"),
        ("US", "2021-01-01T12:00:00Z", "2020-12-28", "2021-01-03", "2021-01-02T05:00:00Z"),
        // Clocks go forward on 10 March 2019 and back on 3 November.
        ("US", "2019-03-10T06:00:00Z", "2019-03-04", "2019-03-10", "2019-03-11T04:00:00Z"),
        ("US", "2019-03-11T03:59:59Z", "2019-03-04", "2019-03-10", "2019-03-11T04:00:00Z"),
        ("US", "2019-11-04T04:30:00Z", "2019-10-28", "2019-11-03", "2019-11-04T05:00:00Z"),
        ("GB", "2019-10-27T12:00:00Z", "2019-10-21", "2019-10-27", "2019-10-28T00:00:00Z"),
        // In Beirut, Sunday 2019-03-31 has no midnight.
        ("LB", "2019-03-30T12:00:00Z", "2019-03-25", "2019-03-31", "2019-03-30T22:00:00Z"),
        ("LB", "2019-03-31T12:00:00Z", "2019-03-25", "2019-03-31", "2019-03-31T21:00:00Z"),
        ("NZ", "2019-07-07T11:59:59Z", "2019-07-01", "2019-07-07", "2019-07-07T12:00:00Z"),
        ("NZ", "2019-07-07T12:00:00Z", "2019-07-08", "2019-07-14", "2019-07-08T12:00:00Z"),
        ("web", "2019-07-07T23:59:59Z", "2019-07-01", "2019-07-07", "2019-07-08T00:00:00Z"),
    ])
    func daysFollowTheZoneOfTheSchedule(
        _ schedule: String, _ now: String, _ monday: String, _ sunday: String, _ turn: String
    ) throws {
        let connector = try #require(Connectors.named("tvmaze", parts: [schedule]))
        let now = try midnight(now)
        let feeds = connector.feeds(.anonymous, now: now)
        #expect(feeds.count == 7 && feeds.map(\.place) == feeds.map(\.place).sorted())
        #expect(feeds.first?.place == monday && feeds.last?.place == sunday)
        #expect(connector.turn(after: now) == (try midnight(turn)))
    }

    @Test func nothingIsReadAtTimesBeyondTheCalendar() throws {
        let connector = try #require(Connectors.named("tvmaze"))
        for now in [UInt64.max, 253_402_300_800_000] {
            #expect(connector.feeds(.anonymous, now: now).isEmpty)
            _ = connector.turn(after: now)
        }
        #expect(connector.feeds(.anonymous, now: 0).first?.place == "1969-12-29")
    }

    /// The machine must know the time zones of the countries that this test uses.
    @Test func countriesHaveTheirTimeZones() throws {
        for code in ["US", "GB", "DE", "BR", "UA", "GL", "KI", "UZ", "CD"] {
            let connector = try #require(Connectors.named("tvmaze", parts: [code]))
            let utc = try #require(Connectors.named("tvmaze", parts: ["web"]))
            let now = try midnight("2019-01-15T12:00:00Z")
            let isUTC = connector.turn(after: now) == utc.turn(after: now)
            #expect(isUTC == (code == "GB"), "\(code)")
        }
    }

    // MARK: - Failures

    @Test func onlyFailingDaysAreTriedAgain() throws {
        let desk = try TVmazeDesk(at: "2019-07-09T16:00:00Z")
        desk.world.weather = { request in
            guard request.query.contains(where: { $0.value == "2019-07-10" }) else { return nil }
            var adversary = desk.world.simulator.adversary
            adversary.serverErrorRate = 1
            return adversary
        }
        let watch = try Watch(desk)
        let settled = try watch.settle()
        #expect(settled <= desk.world.clock.milliseconds + 60_000)
        // Nothing else is left to read, so it is unknown whether the failure affects only that day
        // or the entire remote.
        let first = desk.world.requests.count
        try watch.wake(at: settled)
        try watch.go()
        #expect(Set(desk.asked(from: first)) == ["US 2019-07-10"])
        guard case .wait(let wait) = watch.step else { return #expect(Bool(false), "no wait") }
        #expect(wait.reason == .unavailable)
        #expect(try desk.device.status().reason == .unavailable)
        desk.world.weather = nil
        _ = try watch.settle()
        #expect(Set(desk.asked(from: first).filter { $0.hasPrefix("US") }) == ["US 2019-07-10"])
        #expect(try desk.device.status().isUpToDate)
        try desk.checkShown()
    }

    /// A failing page does not prevent other pages from being read again.
    @Test func pagesAreReadAgainWhileTheLastPageFails() throws {
        let desk = try TVmazeDesk(
            at: "2019-07-09T16:00:00Z",
            try TVmazeDesk.shows(1, on: "2019-07-10", at: "2019-07-11T00:00:00Z"))
        let began = desk.world.clock.milliseconds
        // The week has only one show, whose cast is known, so Sunday is the last page.
        try desk.device.sync()
        desk.wait(.seconds(3_700))
        desk.world.weather = { request in
            guard request.query.contains(where: { $0.value == "2019-07-14" }) else { return nil }
            var adversary = desk.world.simulator.adversary
            adversary.serverErrorRate = 1
            return adversary
        }
        try desk.change { $0.maxAgeSeconds = 600 }
        var session = try #require(try desk.device.session(isLive: true, failuresMax: 0))
        var step = try session.begin()
        let first = desk.world.requests.count
        while desk.world.clock.milliseconds < began + 3 * 3_600_000 {
            switch step {
            case .send(let request):
                step = try session.answered(try desk.world.send(request))
            case .wait(let wait), .pause(let wait):
                desk.world.clock.set(milliseconds: wait.until)
                step = try session.woken()
            case .idle(let until):
                desk.world.clock.set(milliseconds: until)
                step = try session.woken()
            case .end: return #expect(Bool(false), "the session ends")
            }
        }
        let asked = desk.asked(from: first)
        #expect(asked.count { $0 == "US 2019-07-08" } >= 5)
        #expect(asked.count { $0 == "US 2019-07-14" } >= 5)
    }

    @Test func pausesGrowIfPagesAreNeverFresh() throws {
        let desk = try TVmazeDesk(at: "2019-07-09T16:00:00Z")
        try desk.change { $0.maxAgeSeconds = nil }
        let watch = try Watch(desk)
        var pauses: [UInt64] = []
        for _ in 0..<6 {
            let until = try watch.settle()
            pauses.append(until - desk.world.clock.milliseconds)
            #expect(try watch.asks(at: until).count == 7)
        }
        #expect(pauses == pauses.sorted() && pauses.first == 60_000 && pauses.last == 3_600_000)
    }

    @Test func shortFreshnessStillLeavesAPause() throws {
        let desk = try TVmazeDesk(at: "2019-07-09T16:00:00Z")
        try desk.change { $0.maxAgeSeconds = 1 }
        let watch = try Watch(desk)
        #expect(try watch.settle() >= desk.world.clock.milliseconds + 60_000)
    }

    // MARK: - Live lists

    private func follow<Entry>(
        _ list: LiveList<Entry>, _ runner: ProjectionRunner, _ remotes: RemoteWaits
    ) -> LiveLoop<Entry> {
        LiveLoop(runner, list, remotes)
    }

    @Test func scheduleListsReportThatTheRemoteWaits() throws {
        let desk = try TVmazeDesk(at: "2019-07-09T16:00:00Z")
        try desk.device.sync()
        let store = desk.device.store
        let scope = try ScheduleScope()
        let remotes = RemoteWaits(store.log)
        let ofWeek: ArrangedList<ScheduleRow, DatedEpisode> = try .schedule(scope: scope)
        let ofNow: ArrangedList<ScheduleRow, ScheduleWeek.Episode> = .onNow(scope: scope)
        let week = LiveLoop(store.projections, ofWeek, remotes)
        let onNow = LiveLoop(store.projections, ofNow, remotes)
        let found = LiveLoop(store.projections, try LiveSearch("winter", in: .shows), remotes)
        let videos = follow(.videos(), store.projections, remotes)
        #expect(try week.look()?.state == LiveState())
        #expect(try onNow.look()?.state == LiveState())
        #expect(try found.look()?.state == LiveState())
        #expect(try videos.look()?.state == LiveState())
        desk.wait(.seconds(3_700))
        var session = try #require(try desk.device.session(isLive: true))
        guard case .send = try session.begin(),
            case .wait(let wait) = try session.failed(
                SyncFailure(.throttled, "not so fast", retryAfter: 20_000))
        else {
            Issue.record("the session does not wait")
            return
        }
        for state in [try week.look()?.state, try onNow.look()?.state, try found.look()?.state] {
            let failure = try #require(state?.failures.first)
            #expect(failure.remote == "home" && failure.code == .throttled)
            #expect(state?.retryAt == Int64(wait.until))
        }
        #expect(try videos.look() == nil, "TVmaze provides no videos")
        desk.wait(.seconds(60))
        try desk.device.sync()
        #expect(try week.look()?.state == LiveState())
        try NetworkState.offline.set(in: store.log)
        #expect(try week.look()?.state.failures.map(\.code) == [.offline])
    }
}
