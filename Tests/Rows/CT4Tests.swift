import Tapedeck
import TapedeckTesting
import Testing

/// CT4: Schedule changes by episode (added, rescheduled, cancelled, edited), the new week at midnight, and a
/// notice when a remote will be retried.
@Suite struct CT4Tests {
    private let stage: ScheduleStage
    private let day = "2019-07-10"

    init() async throws {
        stage = try await ScheduleStage("ct4")
        for id in 1...3 {
            try await stage.episode(id, at: "2019-07-10T1\(id):00:00Z", airdate: day)
        }
        try await stage.listing(of: day, [1, 2, 3], at: "2019-07-01T00:00:00Z")
    }

    private func kinds(since mark: LogPosition) async throws -> [Int64: ScheduleChanges.Kind] {
        try await stage.changes(since: mark).episodes.reduce(into: [:]) { $0[$1.id] = $1.change }
    }

    @Test func newEpisodesAreReportedAsAdded() async throws {
        let found = try await stage.changes(since: .start)
        #expect(found.episodes.map(\.id) == [1, 2, 3])
        #expect(found.episodes.allSatisfy { $0.change == .added && $0.from == nil })
        #expect(found.episodes.first?.to == (try time("2019-07-10T11:00:00Z")))
        #expect(found.episodes.first?.show == "Show 1" && found.episodes.first?.network == "NBC")
        #expect(found.head == stage.store.log.head.rawValue && !found.more)
        #expect(try await stage.changes(since: stage.store.log.head).episodes.isEmpty)
    }

    @Test func newStartTimesAreReportedAsRescheduled() async throws {
        let mark = stage.store.log.head
        try await stage.episode(
            2, at: "2019-07-11T12:30:00Z", airdate: "2019-07-11", airtime: "08:30", version: 11,
            more: #","name":"Moved""#)
        let change = try #require(try await stage.changes(since: mark).episodes.first)
        #expect(change.id == 2 && change.change == .rescheduled && change.fields == ["name"])
        #expect(change.from == (try time("2019-07-10T12:00:00Z")))
        #expect(change.to == (try time("2019-07-11T12:30:00Z")))
        // The full list for the episode's former day does not cancel the episode.
        try await stage.listing(of: day, [1, 3], at: "2019-07-02T00:00:00Z")
        #expect(try await kinds(since: mark) == [2: .rescheduled])
        #expect(try await stage.week(day) == [day: [1, 3], "2019-07-11": [2]])
    }

    @Test func episodesMissingFromAFullListAreCancelled() async throws {
        let mark = stage.store.log.head
        try await stage.listing(of: day, [1, 3], at: "2019-07-02T00:00:00Z")
        let change = try #require(try await stage.changes(since: mark).episodes.first)
        #expect(change.id == 2 && change.change == .cancelled && change.to == nil)
        #expect(change.from == (try time("2019-07-10T12:00:00Z")))
        #expect(try await stage.week(day) == [day: [1, 3]])
        #expect(try await stage.onNow("2019-07-10T12:30:00Z").episodes.isEmpty)

        let cancelled = stage.store.log.head
        try await stage.listing(of: day, [1, 2, 3], at: "2019-07-03T00:00:00Z")
        #expect(try await kinds(since: cancelled) == [2: .added])
        #expect(try await kinds(since: mark) == [:])
        #expect(try await stage.week(day) == [day: [1, 2, 3]])
    }

    @Test func lateListsChangeNothing() async throws {
        try await stage.listing(of: day, [1], at: "2019-06-30T00:00:00Z")
        #expect(try await stage.week(day) == [day: [1, 2, 3]])
        try await stage.listing(of: day, [1, 2], at: "2019-07-02T00:00:00Z")
        try await stage.listing(of: day, [1, 2, 3], at: "2019-07-01T12:00:00Z")
        #expect(try await stage.week(day) == [day: [1, 2]])
    }

    @Test func newerShowVersionsUndoCancellations() async throws {
        try await stage.listing(of: day, [1, 3], at: "2019-07-02T00:00:00Z")
        // The episode's version is first the time of the list, 2019-07-02T00:00:00Z, and then one
        // second later.
        try await stage.episode(
            2, at: "2019-07-10T12:00:00Z", airdate: day, version: 1_562_025_600)
        #expect(try await stage.week(day) == [day: [1, 3]])
        try await stage.episode(
            2, at: "2019-07-10T12:00:00Z", airdate: day, version: 1_562_025_601)
        #expect(try await stage.week(day) == [day: [1, 2, 3]])
    }

    @Test func episodesInAnotherListForTheSameDayAreKept() async throws {
        try await stage.episode(9, of: 5, at: "2019-07-10T15:00:00Z", airdate: day)
        try await stage.listing(of: day, [1, 2, 3, 9], at: "2019-07-02T00:00:00Z")
        try await stage.listing(
            of: day, [9], at: "2019-07-02T00:00:00Z", country: nil, web: true)
        try await stage.listing(of: day, [1, 2, 3], at: "2019-07-03T00:00:00Z")
        #expect(try await stage.week(day) == [day: [1, 2, 3, 9]])
        try await stage.listing(
            of: day, [], at: "2019-07-03T00:00:00Z", country: nil, web: true)
        #expect(try await stage.week(day) == [day: [1, 2, 3]])
    }

    @Test func lateNightEpisodesBelongToTheirActualDay() async throws {
        try await stage.episode(
            7, at: "2019-07-11T05:30:00Z", airdate: day, airtime: "01:30")
        try await stage.listing(of: "2019-07-11", [7], at: "2019-07-02T00:00:00Z")
        // The list for the episode's airdate never contained the episode.
        try await stage.listing(of: day, [1, 2, 3], at: "2019-07-03T00:00:00Z")
        #expect(try await stage.week(day)["2019-07-11"] == [7])
        try await stage.listing(of: "2019-07-11", [], at: "2019-07-04T00:00:00Z")
        #expect(try await stage.week(day)["2019-07-11"] == nil)
    }

    /// The list for an episode's former day does not cancel the episode, either in its week or in
    /// live lists of that week.
    ///
    /// The observation that moved the episode has no airdate.
    @Test func listsOfAFormerDayDoNotCancelEpisodes() async throws {
        stage.place.clock.set(milliseconds: UInt64(try time("2019-07-10T12:00:00Z").milliseconds))
        try await stage.episode(4, at: "2019-07-01T14:00:00Z", airdate: "2019-07-01")
        try await stage.listing(of: "2019-07-01", [4], at: "2019-06-20T00:00:00Z")
        let mark = stage.store.log.head
        try await stage.episode(4, at: "2019-07-11T14:00:00Z", version: 11)
        try await stage.listing(of: "2019-07-01", [], at: "2019-06-21T00:00:00Z")
        #expect(try await kinds(since: mark) == [4: .rescheduled])
        #expect(try await stage.week(day)["2019-07-11"] == [4])
        for list in try LiveLists.follow(stage.store, limit: 20)
        where list.name.hasPrefix("this week") {
            try list.check(stage.store, "an episode was moved by ten days")
        }
    }

    @Test func changedDetailsAreNamed() async throws {
        let mark = stage.store.log.head
        try await stage.episode(
            1, at: "2019-07-10T11:00:00Z", airdate: day, minutes: 90, version: 11,
            more: #","summary":"New""#)
        try await stage.add(
            "ShowObserved", #"{"show":1,"updated":12,"name":"Renamed","genres":["Drama"]}"#)
        try await stage.add(
            "CastObserved",
            #"{"show":1,"showUpdated":12,"cast":[{"personId":1,"characterId":1}]}"#)
        // This observation is older and arrives late.
        try await stage.episode(
            3, at: "2019-07-10T09:00:00Z", airdate: day, version: 9, more: #","season":1"#)
        let found = try await stage.changes(since: mark)
        #expect(found.episodes.map(\.id) == [1, 3])
        #expect(found.episodes.map(\.change) == [.details, .details])
        #expect(found.episodes.map(\.fields) == [["runtimeMinutes", "summary"], ["season"]])
        #expect(found.shows.map(\.fields) == [["name", "genres", "cast"]])
        #expect(found.shows.first?.name == "Renamed")
    }

    @Test func revertedChangesAreNotReported() async throws {
        let mark = stage.store.log.head
        try await stage.episode(1, at: "2019-07-10T19:00:00Z", airdate: day, version: 11)
        #expect(try await kinds(since: mark) == [1: .rescheduled])
        let moved = stage.store.log.head
        try await stage.episode(1, at: "2019-07-10T11:00:00Z", airdate: day, version: 12)
        #expect(try await kinds(since: mark) == [:])
        #expect(try await kinds(since: moved) == [1: .rescheduled])
    }

    @Test func pagesOfChangesContinueAtTheirHeads() async throws {
        var mark = LogPosition.start
        var seen: [Int64] = []
        var more = true
        while more {
            let page = try await stage.changes(since: mark, limit: 1)
            #expect(page.head > mark.rawValue)
            seen += page.episodes.map(\.id)
            (mark, more) = (LogPosition(rawValue: page.head), page.more)
        }
        #expect(seen == [1, 2, 3])
        #expect(mark == stage.store.log.head)
        let error = await #expect(throws: StoreError.self) {
            try await stage.changes(since: .start, limit: 0)
        }
        #expect(error?.code == .usage)
    }

    // MARK: - From TVmaze

    @Test func remoteChangesAreReportedByEpisode() async throws {
        try await TVmazeStage.run("ct4", at: "2019-07-09T16:00:00Z", others: .seconds(300)) {
            stage in
            let store = try stage.open()
            try await stage.sync(store)
            let (mark, before) = (store.log.head, try await stage.week(store))
            try await stage.wait(.seconds(6 * 3_600))
            try await stage.sync(store)
            let after = try await stage.week(store)
            let (was, isNow) = (starts(before), starts(after))
            // The week matches the remote.
            let world = try stage.world
            #expect(isNow.allSatisfy { world.episodes[Int($0.key)]?.startsAt == $0.value })
            #expect(was.keys.allSatisfy { isNow[$0] != nil || gone(Int($0), world) })
            let log = store.log
            let changes = try await store.query {
                try VideoQueries($0).scheduleChanges(since: mark, in: log, limit: 500)
            }
            func ids(_ kind: ScheduleChanges.Kind) -> Set<Int64> {
                Set(changes.episodes.filter { $0.change == kind }.map(\.id))
            }
            #expect(ids(.added) == Set(isNow.keys).subtracting(was.keys))
            #expect(ids(.cancelled) == Set(was.keys).subtracting(isNow.keys))
            #expect(ids(.rescheduled) == Set(was.keys.filter { isNow[$0] ?? was[$0] != was[$0] }))
            #expect(!changes.episodes.isEmpty)
        }
    }

    private func starts(_ episodes: [ScheduleWeek.Episode]) -> [Int64: Int64] {
        episodes.reduce(into: [:]) { $0[$1.id] = $1.startsAt.milliseconds }
    }

    /// Returns whether an episode has left the week: it no longer exists, or starts after the
    /// week's end.
    private func gone(_ id: Int, _ world: TVmazeWorld) -> Bool {
        guard let episode = world.episodes[id] else { return true }
        return episode.startsAt >= 1_563_163_200_000
    }

    @Test func weekChangesAtMidnight() async throws {
        // In New York it is Sunday, ten minutes before midnight.
        try await TVmazeStage.run("ct4", at: "2019-07-15T03:50:00Z") { stage in
            let store = try stage.open()
            try await stage.sync(store)
            let before = try await stage.week(store)
            try await stage.wait(.seconds(601))
            let report = try await stage.sync(store)
            #expect(report.fresh == 0 && report.pulled > 0, "the sync did not request other days")
            let after = try await stage.week(store)
            #expect(!before.isEmpty && !after.isEmpty)
            let turn = try time("2019-07-15T04:00:00Z")
            #expect(before.allSatisfy { $0.startsAt < turn })
            #expect(after.allSatisfy { $0.startsAt >= turn })
        }
    }

    @Test func liveSchedulesReportWhenTheRemoteIsRetried()
        async throws
    {
        try await TVmazeStage.run("ct4", at: "2019-07-09T16:00:00Z") { stage in
            let store = try stage.open()
            try await stage.sync(store)
            let week: ArrangedList<ScheduleRow, DatedEpisode> = try .schedule(
                scope: ScheduleScope())
            var updates = store.live(week).makeAsyncIterator()
            let first = try #require(try await updates.next())
            #expect(first.state == LiveState() && !first.changes.isEmpty)
            await stage.end()
            try await stage.wait(.seconds(3_601))
            #expect(try await stage.sync(store).failure?.code == .offline)
            var failed = try #require(try await updates.next())
            while failed.state.failures.isEmpty { failed = try #require(try await updates.next()) }
            #expect(failed.state.failures.map(\.remote) == ["tv"])
            #expect(failed.state.failures.map(\.code) == [.offline])
            #expect(failed.state.retryAt != nil)
        }
    }
}
