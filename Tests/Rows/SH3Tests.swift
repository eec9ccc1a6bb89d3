import Tapedeck
import TapedeckTesting
import Testing

/// SH3: Checks find out whether a video can be played; a failed check does not make it
/// "unplayable".
@Suite struct SH3Tests {
    private let place: TemporaryStore
    private let store: TapedeckStore
    private let projections = VideoProjections.standard

    init() throws {
        place = try TemporaryStore("sh3")
        store = try place.open()
    }

    private var now: UTCTime { UTCTime(milliseconds: Int64(place.clock.milliseconds)) }

    private func check(_ video: String, _ finding: PlayabilityFinding) async throws {
        let (key, now) = (try VideoKey(video), now)
        try await store.decide(projections.playability, key: key.tag) { state in
            try CheckPlayability(key, finding, now: now).decide(state)
        }
    }

    private func entry(_ video: String) async throws -> PlayabilityEntry {
        let now = now
        return try await store.query { try VideoQueries($0).playability(of: video, at: now) }
    }

    private func list(_ filter: PlayabilityFilter) async throws -> [String] {
        let now = now
        return try await store.query {
            try VideoQueries($0).playability(filter, at: now).videos.map(\.video)
        }
    }

    /// Shares videos at intervals of one second.
    private func share(_ videos: String...) async throws { try await share(videos) }

    private func share(_ videos: [String]) async throws {
        try await store.append(
            videos.enumerated().map { second, video in
                BroadcastReceived.with {
                    ($0.broadcast, $0.video) = ("of-\(video)", video)
                    $0.createdAt = .init(seconds: 1_325_376_000 + Int64(second))
                }
            })
    }

    private func due(limit: Int = 50) async throws -> [String] {
        let now = now
        let videos = try await store.query {
            try VideoQueries($0).checksDue(at: now, limit: limit)
        }
        #expect(try await list(.due).prefix(limit) == videos.map(\.text)[...])
        return videos.map(\.text)
    }

    /// Records the findings of all due checks that need no request, and returns their number.
    private func checkLocally() async throws -> Int {
        let now = now
        let recorded = try await store.decide { views in
            let queries = VideoQueries(views)
            return try queries.checksDue(at: now).flatMap { video in
                try PlayabilityCheck(video).finding.map {
                    try CheckPlayability(video, $0, now: now).decide(queries)
                } ?? []
            }
        }
        return recorded?.count ?? 0
    }

    @Test func failedChecksGiveNoVerdictAndAreRetried() async throws {
        try await share("youtube:a")
        #expect(try await entry("youtube:a").state == .unknown)
        #expect(try await list(.unknown) == ["youtube:a"])
        #expect(try await due() == ["youtube:a"])

        try await check("youtube:a", .failed(reason: "timeout"))
        var found = try await entry("youtube:a")
        #expect(found.state == .failed && found.reason == "timeout" && found.failures == 1)
        #expect(found.nextTryAt == UTCTime(milliseconds: now.milliseconds + 30_000))
        #expect(!found.due)
        #expect(try await list(.failed) == ["youtube:a"])
        #expect(try await list(.due) == [])
        #expect(try await list(.unknown) == [])

        // Checking too early is refused, so that two concurrent checks do not double the delay.
        let refusal = await #expect(throws: CheckPlayability.Refusal.self) {
            try await check("youtube:a", .failed(reason: "timeout"))
        }
        #expect(try refusal == .notDue(until: #require(found.nextTryAt)))

        place.clock.advance(by: .seconds(30))
        #expect(try await list(.due) == ["youtube:a"])
        try await check("youtube:a", .failed(reason: "unreachable"))
        found = try await entry("youtube:a")
        #expect(found.failures == 2 && found.reason == "unreachable")
        #expect(found.nextTryAt == UTCTime(milliseconds: now.milliseconds + 60_000))

        try await check("youtube:a", .playable)
        found = try await entry("youtube:a")
        #expect(found.state == .playable && found.failures == 0 && !found.due)
        #expect(try await list(.playable) == ["youtube:a"])
        #expect(try await list(.failed) == [])
    }

    @Test func failedChecksKeepTheVerdict() async throws {
        try await check("youtube:a", .unplayable(reason: "live"))
        place.clock.advance(by: .seconds(1))
        try await check("youtube:a", .failed(reason: "timeout"))
        let found = try await entry("youtube:a")
        #expect(found.state == .unplayable && found.reason == "live" && found.failures == 1)
        #expect(try await list(.unplayable) == ["youtube:a"])
        #expect(try await list(.failed) == [])
    }

    @Test func equalVerdictsAreRecordedOnce() async throws {
        try await check("vimeo:7", .playable)
        let head = store.log.head
        try await check("vimeo:7", .playable)
        #expect(store.log.head == head)
    }

    @Test func remoteReportsExpireUnlessTheySpanTwoDays() async throws {
        func observe(_ first: Duration, _ last: Duration) async throws {
            func time(_ ago: Duration) -> Int64 {
                now.milliseconds - ago.components.seconds * 1_000
            }
            let observation = FrameObserved.with {
                ($0.frame, $0.video) = ("f1", "youtube:a")
                $0.firstUnplayableAt = .init(milliseconds: time(first))
                $0.lastUnplayableAt = .init(milliseconds: time(last))
            }
            let proposal = try ProposedEvent(observation: observation, observedAt: now.milliseconds)
            try await store.log.append([proposal])
        }
        try await check("youtube:a", .playable)
        try await observe(.seconds(7_200), .seconds(600))
        #expect(try await entry("youtube:a").state == .unplayable)
        #expect(try await list(.unplayable) == ["youtube:a"])
        #expect(try await list(.playable) == [])
        place.clock.advance(by: .seconds(3_000))
        #expect(try await entry("youtube:a").state == .playable)
        #expect(try await list(.unplayable) == [])
        #expect(try await list(.playable) == ["youtube:a"])
        try await observe(.seconds(49 * 3_600), .seconds(0))
        place.clock.advance(by: .seconds(86_400 * 365))
        #expect(try await entry("youtube:a").reason == "remote")
        #expect(try await list(.unplayable) == ["youtube:a"])
    }

    @Test func providerRulesMatchTheOriginalApps() throws {
        func judge(_ rule: ProviderRule, _ video: String) throws -> ProviderRule.Judgement {
            rule.judge(try VideoKey(video))
        }
        let malformed = ProviderRule.Judgement.finding(.unplayable(reason: "malformed-id"))
        let unsupported = ProviderRule.Judgement.finding(
            .unplayable(reason: "unsupported-provider"))
        #expect(try judge(.shelby2012, "vimeo:2147483647") == .finding(.playable))
        #expect(try judge(.shelby2012, "vimeo:2147483648") == malformed)
        #expect(try judge(.shelby2012, "youtube:a") == .ask)
        #expect(try judge(.shelby2012, "dailymotion:x1") == unsupported)
        #expect(try judge(.shelby2013, "dailymotion:x1") == .finding(.playable))
        #expect(try judge(.shelby2013, "vimeo:12345") == malformed)
        #expect(try judge(.shelby2013, "vimeo:123456") == .finding(.playable))
    }

    @Test func localRulesNeedNoNetwork() async throws {
        try await share("youtube:a", "vimeo:abc", "hulu:1", "dailymotion:x1", "vimeo:7")
        #expect(
            try await due()
                == ["vimeo:7", "dailymotion:x1", "hulu:1", "vimeo:abc", "youtube:a"])
        #expect(try await list(.all) == list(.due))
        #expect(try await checkLocally() == 3)
        #expect(try await entry("vimeo:abc").reason == "malformed-id")
        #expect(try await entry("hulu:1").reason == "unsupported-provider")
        #expect(try await list(.playable) == ["dailymotion:x1"])

        #expect(try await checkLocally() == 0)
        #expect(try await due() == ["vimeo:7", "youtube:a"])
        #expect(try await entry("vimeo:7").checkUrl?.hasPrefix("https://vimeo.com/") == true)
        #expect(try await entry("hulu:1").checkUrl == nil)

        // These findings are final, unlike findings from a provider.
        place.clock.advance(by: .seconds(86_400 * 365))
        #expect(try await due() == ["vimeo:7", "youtube:a"])
    }

    @Test func uncheckedVideosComeFirstThenTheLongestOverdueChecks() async throws {
        try await share(["a", "b", "c", "d", "e"].map { "youtube:\($0)" })
        try await check("youtube:c", .playable)
        place.clock.advance(by: .seconds(3_600))
        try await check("youtube:d", .unplayable(reason: "gone"))
        place.clock.advance(by: .seconds(86_400 * 30 - 3_640))
        try await check("youtube:b", .failed(reason: "timeout"))
        place.clock.advance(by: .seconds(29))
        let unchecked = ["youtube:e", "youtube:a"]
        #expect(try await due() == unchecked)
        place.clock.advance(by: .seconds(1))
        #expect(try await due() == unchecked + ["youtube:b"])
        place.clock.advance(by: .seconds(10))
        #expect(try await due() == unchecked + ["youtube:b", "youtube:c"])
        place.clock.advance(by: .seconds(3_600))
        #expect(try await due() == unchecked + ["youtube:b", "youtube:c", "youtube:d"])
        #expect(try await due(limit: 1) == ["youtube:e"])
    }

    @Test func findingsAreCheckedAgainAfterThirtyDays() async throws {
        try await share("youtube:a")
        try await check("youtube:a", .playable)
        let head = store.log.head
        place.clock.advance(by: .seconds(86_400 * 30 - 1))
        #expect(try await due() == [])
        try await check("youtube:a", .playable)
        #expect(store.log.head == head)

        place.clock.advance(by: .seconds(1))
        #expect(try await due() == ["youtube:a"])
        // Until the check, the old finding is shown.
        #expect(try await list(.playable) == ["youtube:a"])
        try await check("youtube:a", .playable)
        #expect(store.log.head > head)
        #expect(try await due() == [])
        #expect(
            try await entry("youtube:a").nextTryAt
                == UTCTime(milliseconds: now.milliseconds + 86_400_000 * 30))
    }

    @Test func pausesBetweenFailedChecksGrow() async throws {
        try await share("youtube:a")
        var pauses: [Int64] = []
        for _ in 0..<12 {
            try await check("youtube:a", .failed(reason: "status-503"))
            let next = try #require(try await entry("youtube:a").nextTryAt)
            let pause = (next.milliseconds - now.milliseconds) / 1_000
            pauses.append(pause)
            place.clock.advance(by: .seconds(pause - 1))
            #expect(try await due() == [])
            place.clock.advance(by: .seconds(1))
            #expect(try await due() == ["youtube:a"])
        }
        #expect(
            pauses == [30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 21_600, 21_600])
    }

    @Test func pagesOfUncheckedVideosAreFull() async throws {
        let videos = (0..<510).map { "youtube:v\($0)" }
        try await share(videos)
        // The five oldest videos and one in between are unchecked.
        try await store.append(
            videos.dropFirst(5).filter { $0 != "youtube:v100" }.map { video in
                PlayabilityChecked.with { ($0.video, $0.outcome) = (video, "playable") }
            })
        let now = now
        func page(_ cursor: String?) async throws -> PlayabilityPage {
            try await store.query {
                try VideoQueries($0).playability(.unknown, at: now, limit: 3, cursor: cursor)
            }
        }
        let first = try await page(nil)
        #expect(first.videos.map(\.video) == ["youtube:v100", "youtube:v4", "youtube:v3"])
        #expect(first.next != nil)
        let second = try await page(first.next)
        #expect(second.videos.map(\.video) == ["youtube:v2", "youtube:v1", "youtube:v0"])
        #expect(second.next == nil)
    }

    @Test func videosOfAnyListAreCheckedUntilTheyLeaveIt() async throws {
        func list(_ isRemoved: Bool) async throws {
            let observation = VideoListed.with {
                ($0.list, $0.entry, $0.video) = ("personal-roll", "e1", "youtube:a")
                $0.removed = isRemoved
            }
            try await store.log.append([
                try ProposedEvent(observation: observation, observedAt: now.milliseconds)
            ])
            place.clock.advance(by: .seconds(1))
        }
        try await list(false)
        #expect(try await due() == ["youtube:a"])
        try await list(true)
        #expect(try await due() == [])
        #expect(try await self.list(.unknown) == [])
        try await list(false)
        #expect(try await self.list(.unknown) == ["youtube:a"])

        try await check("youtube:a", .playable)
        try await list(true)
        place.clock.advance(by: .seconds(86_400 * 31))
        #expect(try await due() == [])
    }

    @Test func reportedVideosAreNotDueUntilTheReportExpires() async throws {
        try await share("youtube:a", "youtube:b")
        let observation = FrameObserved.with {
            ($0.frame, $0.video) = ("f1", "youtube:b")
            $0.firstUnplayableAt = .init(milliseconds: now.milliseconds)
            $0.lastUnplayableAt = .init(milliseconds: now.milliseconds)
        }
        try await store.log.append([
            try ProposedEvent(observation: observation, observedAt: now.milliseconds)
        ])
        #expect(try await due() == ["youtube:a"])
        #expect(try await list(.unknown) == ["youtube:a"])
        place.clock.advance(by: .seconds(3_600))
        #expect(try await due() == ["youtube:a", "youtube:b"])
        #expect(try await list(.unknown) == ["youtube:a", "youtube:b"])
    }

    @Test func boundsOfTheRemoteRuleAreStrict() throws {
        func holds(_ first: Int64, _ last: Int64, _ now: Int64) throws -> Bool {
            try #require(RemoteUnplayability(firstAt: first, lastAt: last))
                .holds(at: UTCTime(milliseconds: now))
        }
        let (hour, days): (Int64, Int64) = (3_600_000, 48 * 3_600_000)
        #expect(try holds(1, 1, hour) && !holds(1, 1, hour + 1))
        #expect(try !holds(1, 1 + days, 1 + days + hour))
        #expect(try holds(1, 2 + days, 2 + days + hour))
        #expect(RemoteUnplayability(firstAt: 0, lastAt: 5) == nil)
        #expect(RemoteUnplayability(firstAt: nil, lastAt: 5) == nil)
    }
}
