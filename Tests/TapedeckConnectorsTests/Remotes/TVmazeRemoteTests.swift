import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Syncing with a simulated TVmaze server.
@Suite(.offTasks) struct TVmazeRemoteTests {
    /// A Tuesday.
    private static let tuesday = "2019-07-09T16:00:00Z"
    private static let days = (8...14).map { "2019-07-\($0 < 10 ? "0" : "")\($0)" }

    // MARK: - Reading

    @Test func weekIsReadBeforeTheCasts() throws {
        let desk = try TVmazeDesk(["US", "web", "web-DE"], at: Self.tuesday)
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil && report.unreadable.isEmpty && report.unread == 0)
        let asked = desk.asked()
        let week = ["US", "web", "web-DE"].flatMap { list in Self.days.map { "\(list) \($0)" } }
        #expect(Array(asked.prefix(21)) == week)
        let world = try desk.maze.world
        let listed = Set(
            try desk.device.query { queries in
                try [ScheduleScope(), ScheduleScope(web: true)].flatMap { scope in
                    try queries.schedule(week: "2019-07-09", scope: scope).days
                }
            }.flatMap(\.episodes).map(\.showId))
        #expect(Set(asked.dropFirst(21)).isSuperset(of: listed.map { "cast \($0)" }))
        #expect(asked.count == Set(asked).count)
        for show in listed {
            let cast = world.casts[Int(show)] ?? []
            #expect(try desk.cast(Int(show)) == cast.map(\.personName))
        }
        #expect(desk.world.simulator.violations.isEmpty)
        try desk.checkShown()
        let status = try desk.device.status()
        #expect(status.isUpToDate && !status.needsLogin && !status.hasLogin)
    }

    @Test func eachCountryIsReadForTheDaysOfItsOwnWeek() throws {
        // It is Monday in Sydney, but Sunday in London and New York.
        let desk = try TVmazeDesk(["US", "GB", "AU"], at: "2019-07-07T20:00:00Z")
        try desk.device.sync()
        let asked = desk.asked()
        #expect(asked.filter { $0.hasPrefix("AU") } == Self.days.map { "AU \($0)" })
        #expect(asked.first { $0.hasPrefix("US") } == "US 2019-07-01")
        #expect(asked.first { $0.hasPrefix("GB") } == "GB 2019-07-01")
        try desk.checkShown("GB")
    }

    @Test func castIsReadAgainIfItsShowHasChanged() throws {
        let desk = try TVmazeDesk(
            at: Self.tuesday,
            try TVmazeDesk.shows(3, on: "2019-07-10", at: "2019-07-11T00:00:00Z"))
        try desk.device.sync()
        #expect(desk.asked().dropFirst(7) == ["cast 1", "cast 2", "cast 3"])
        desk.wait(.seconds(3_700))
        let first = desk.world.requests.count
        #expect(try desk.device.sync()?.pulled == 7, "only the listings of the days")
        #expect(desk.asked(from: first) == Self.days.map { "US \($0)" })
        try desk.change {
            $0.world.shows[2]?.updated += 1
            $0.world.casts[2]?.append(
                TVmazeWorld.Role(
                    person: 9, personName: "Bob", character: 9, characterName: "Adam"))
        }
        desk.wait(.seconds(3_700))
        let second = desk.world.requests.count
        try desk.device.sync()
        #expect(desk.asked(from: second + 7) == ["cast 2"])
        #expect(try desk.cast(2) == ["Ada 2", "Bob"])
    }

    /// The cast of a removed show does not exist and is not requested again.
    @Test func missingCastIsNotRequestedAgain() throws {
        let desk = try TVmazeDesk(
            at: Self.tuesday,
            try TVmazeDesk.shows(2, on: "2019-07-10", at: "2019-07-11T00:00:00Z"))
        let report = try desk.device.sync { number in
            if number == 7 { try desk.change { $0.world.shows[1] = nil } }
        }
        #expect(report?.failure == nil && report?.unread == 0)
        #expect(report?.unreadable.count == 1)
        let first = desk.world.requests.count
        desk.wait(.seconds(60))
        try desk.device.sync()
        #expect(desk.world.requests.count == first)
    }

    @Test func numberOfCastsPerSyncIsLimited() throws {
        let count = 250
        let desk = try TVmazeDesk(
            at: Self.tuesday,
            try TVmazeDesk.shows(count, on: "2019-07-10", at: "2019-07-11T00:00:00Z"))
        let report = try #require(try desk.device.sync())
        #expect(desk.world.requests.count == 7 + 200)
        #expect(report.unread == 50 && report.failure == nil)
        #expect(try desk.device.status().readAt != nil, "the schedules were read")
        desk.wait(.seconds(10))
        let again = try #require(try desk.device.sync())
        #expect(desk.world.requests.count == 7 + count && again.unread == 0 && again.fresh == 7)
        #expect(try (1...count).allSatisfy { try desk.cast($0) == ["Ada \($0)"] })
    }

    @Test func requestsStayWithinTheRateLimit() throws {
        let desk = try TVmazeDesk(["US", "GB", "web"], at: Self.tuesday)
        var times: [UInt64] = []
        try desk.device.sync { _ in times.append(desk.world.clock.milliseconds) }
        #expect(times.count > 30)
        for (index, time) in times.enumerated().dropFirst(20) {
            #expect(time - times[index - 20] >= 10_000)
        }
    }

    // MARK: - Cancellations

    @Test func onlyCompleteListingsCancelMissingEpisodes() throws {
        let desk = try TVmazeDesk(
            at: Self.tuesday,
            try TVmazeDesk.shows(3, on: "2019-07-10", at: "2019-07-11T00:00:00Z"))
        try desk.device.sync()
        #expect(try desk.shown()["2019-07-10"] == [1, 2, 3])
        try desk.change {
            $0.world.episodes[1] = nil
            // The connector cannot read this row, so the row's content is unknown.
            $0.world.episodes[4] = TVmazeWorld.Episode(
                id: 0, show: 3, name: "none", airdate: "2019-07-10",
                startsAt: try milliseconds("2019-07-11T00:00:00Z"))
        }
        let broken = try #require(try desk.device.sync(refreshesAll: true))
        #expect(broken.unreadable.count == 1)
        #expect(try desk.shown()["2019-07-10"] == [1, 2, 3])
        try desk.change { $0.world.episodes[4] = nil }
        try desk.device.sync(refreshesAll: true)
        #expect(try desk.shown()["2019-07-10"] == [2, 3])
        #expect(try desk.device.sync(refreshesAll: true)?.pulled == 7, "the listings of the days")
    }

    // MARK: - Freshness

    @Test func freshPagesAreNotRequestedAgain() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        let began = desk.world.clock.milliseconds
        try desk.device.sync()
        let count = desk.world.requests.count
        let report = try #require(try desk.device.sync())
        #expect(desk.world.requests.count == count, "no request is sent")
        #expect(report.fresh == 7 && report.failure == nil)
        let end = try #require(report.freshUntil)
        #expect((began + 3_600_000..<began + 3_660_000).contains(end))
        // After a restart, the pages are still fresh.
        try desk.device.restart()
        #expect(try desk.device.sync()?.fresh == 7)
        #expect(desk.world.requests.count == count)
        desk.world.clock.set(milliseconds: end - 1)
        #expect(try desk.device.sync()?.fresh == 7)
        // The other pages expire while the first page is requested.
        desk.world.clock.set(milliseconds: end)
        #expect(try desk.device.sync()?.fresh == 0)
        #expect(desk.asked(from: count) == Self.days.map { "US \($0)" })
    }

    @Test func freshPagesAreReadAgainOnDemand() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        try desk.device.sync()
        desk.wait(.seconds(10))
        let count = desk.world.requests.count
        #expect(try desk.device.sync(refreshesAll: true)?.fresh == 0)
        let asked = desk.asked(from: count)
        #expect(asked.prefix(7) == Self.days.map { "US \($0)" }[...])
        // Casts are read again, too, although their shows have not changed.
        #expect(asked.count > 7 && asked.dropFirst(7).allSatisfy { $0.hasPrefix("cast") })
        // The pages that were just read are fresh again.
        #expect(try desk.device.sync()?.fresh == 7)
    }

    @Test func pagesWithoutAMaximumAgeAreNotFresh() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        try desk.change { $0.maxAgeSeconds = nil }
        try desk.device.sync()
        desk.wait(.seconds(10))
        let count = desk.world.requests.count
        #expect(try desk.device.sync()?.fresh == 0)
        #expect(desk.asked(from: count) == Self.days.map { "US \($0)" })
    }

    @Test func laterResponsesCanEndFreshness() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        try desk.device.sync()
        try desk.change { $0.maxAgeSeconds = nil }
        try desk.device.sync(refreshesAll: true)
        #expect(try desk.device.sync()?.fresh == 0)
    }

    @Test func settingTheClockBackEndsFreshness() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        try desk.device.sync()
        desk.wait(.seconds(-7_200))
        #expect(try desk.device.sync()?.fresh == 0)
    }

    @Test func remoteWithAnotherURLHasNoFreshPages() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        try desk.device.sync()
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        let moved = try remotes.add("home", system: "tvmaze", url: "http://127.0.0.1:2")
        #expect(moved.parts == ["US"])
        let now = desk.world.clock.milliseconds
        let fresh = try RemoteFreshness(moved, at: now, in: desk.device.store.log)
        let monday = RemotePage("schedule/US/monday", "2019-07-08")
        #expect(fresh.end(of: monday, moved, at: now) == nil)
        #expect(fresh.end(of: monday, desk.device.remote, at: now) != nil)
    }

    /// Each sync begins by removing expired rows and rows beyond the limit.
    @Test func numberOfRememberedPagesIsLimited() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        let log = desk.device.store.log
        let remote = try StoreRemotes(log, desk.device.store.projections).named("home")
        let now = desk.world.clock.milliseconds
        let count = RemoteFreshness.pagesMax + 100
        try log.setSyncRows(
            (0..<count).map {
                RemoteRow.fresh(
                    remote, RemotePage("page", "\($0)"),
                    FreshSpan(since: now, until: now + 1_000_000 + UInt64($0)))
            })
        #expect(try freshCount(desk) == count)
        try desk.device.sync()
        let kept = try freshCount(desk)
        #expect(kept < RemoteFreshness.pagesMax + desk.world.requests.count + 1)
        desk.wait(.seconds(7_200))
        try desk.device.sync()
        #expect(try freshCount(desk) == 7)
    }

    @Test(
        arguments: [
            (["public, max-age=3600"], nil, 3_600), (["max-age=3600"], "600", 3_000),
            (["max-age=60"], "61", 0), (["MAX-AGE=\"60\" , public"], nil, 60),
            (["max-age=60", "max-age=30"], nil, 30), (["max-age=60, no-store"], nil, 0),
            (["no-cache", "max-age=60"], nil, 0), (["no-cache=\"set-cookie\", max-age=60"], nil, 0),
            ([], nil, 0), (["public"], nil, 0), (["max-age"], nil, 0), (["max-age="], nil, 0),
            (["max-age=-1"], nil, 0), (["max-age=1e9"], nil, 0), (["max-age=+5"], nil, 0),
            (["max-age=99999999999999999999999"], nil, 86_400), (["max-age=86401"], nil, 86_400),
            (["max-age=60"], "soon", 60), (["max-age=60"], "99999999999999999999999", 0),
            (["s-maxage=60"], nil, 0), ([",,=,max-age=5,"], nil, 5), (["max-age=0"], nil, 0),
        ] as [([String], String?, UInt64)])
    func headersDetermineTheFreshness(_ control: [String], _ age: String?, _ seconds: UInt64) {
        var response = RemoteResponse(status: 200)
        response.headers = control.map { .init("cache-control", $0) }
        if let age { response.headers.append(.init("AGE", age)) }
        #expect(response.freshFor == seconds * 1_000)
    }

    /// Returns the number of pages that are remembered as fresh.
    private func freshCount(_ desk: TVmazeDesk) throws -> Int {
        let row = RemoteRow.fresh(desk.device.remote, RemotePage(""), nil)
        return try desk.device.store.log.syncRows(prefix: String(row.name.dropLast(32))).count
    }

    // MARK: - Choice of schedules

    @Test func addingTheRemoteAgainChangesItsSchedules() throws {
        let desk = try TVmazeDesk(at: Self.tuesday)
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        let events = desk.device.store.log.head
        #expect(try remotes.named("home").parts == ["US"])
        _ = try remotes.add("home", system: "tvmaze", url: "http://127.0.0.1:1", parts: ["us"])
        #expect(desk.device.store.log.head == events, "nothing was changed")
        _ = try remotes.add(
            "home", system: "tvmaze", url: "http://127.0.0.1:1", parts: ["gb", "WEB-de", "GB"])
        #expect(try remotes.named("home").parts == ["GB", "web-DE"])
        #expect(try remotes.all().count == 1)
    }

    @Test(arguments: ["UK", "USA", "", "web-", "web-XX", "XX", "US-web", "web-US-1", "wéb", "-"])
    func errorsForInvalidSchedulesListTheKnownOnes(_ name: String) throws {
        let desk = try TVmazeDesk()
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        let error = #expect(throws: SyncError.self) {
            _ = try remotes.add("tv", system: "tvmaze", url: "http://127.0.0.1:1", parts: [name])
        }
        #expect(error?.code == .usage)
        #expect(error?.hint?.contains("web-US") == true)
    }

    @Test func otherSystemsHaveNoSchedules() throws {
        let desk = try TVmazeDesk()
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        let error = #expect(throws: SyncError.self) {
            _ = try remotes.add("w", system: "whale", url: "http://127.0.0.1:1", parts: ["US"])
        }
        #expect(error?.code == .usage)
    }

    /// A store that contained a remote before it contained sample events does not sync either.
    @Test func storesWithSampleEventsHaveNoRemotes() async throws {
        let desk = try TVmazeDesk()
        let log = desk.device.store.log
        let remotes = StoreRemotes(log, desk.device.store.projections)
        try await log.append([
            ProposedEvent(type: "Noted", tags: [EventLog.sampleTag], payload: [1])
        ])
        let head = log.head
        let synced = await #expect(throws: LogError.self) { try await remotes.sync("home") }
        let loggedIn = await #expect(throws: LogError.self) {
            try await remotes.logIn("home", RemoteCredentials(user: "ada", password: "secret"))
        }
        let errors = [synced, loggedIn, Self.addingError(remotes)]
        #expect(errors.allSatisfy { $0?.code == .usage })
        #expect(log.head == head && desk.asked().isEmpty)
    }

    private static func addingError(_ remotes: StoreRemotes) -> LogError? {
        #expect(throws: LogError.self) {
            try remotes.add("home", system: "tvmaze", url: "http://127.0.0.1:1", parts: ["GB"])
        }
    }

    @Test func loginsAreRefused() async throws {
        let desk = try TVmazeDesk()
        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        let error = await #expect(throws: SyncError.self) {
            try await remotes.logIn("home", RemoteCredentials(user: "ada", password: "secret"))
        }
        #expect(error?.code == .usage && error?.message.contains("has no logins") == true)
    }
}
