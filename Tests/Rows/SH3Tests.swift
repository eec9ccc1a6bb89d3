import Tapedeck
import TapedeckTesting
import Testing

/// SH3: Whether a video can be played; a failed check does not count as "unplayable".
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

    private func share(_ video: String) async throws {
        try await store.append([
            BroadcastReceived.with { ($0.broadcast, $0.video) = ("of-\(video)", video) }
        ])
    }

    @Test func failedChecksGiveNoVerdictAndAreRetried() async throws {
        try await share("youtube:a")
        #expect(try await entry("youtube:a").state == .unknown)
        #expect(try await list(.unknown) == ["youtube:a"])

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
        #expect(found.state == .playable && found.failures == 0 && found.nextTryAt == nil)
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
        func sight(_ first: Duration, _ last: Duration) async throws {
            func time(_ ago: Duration) -> Int64 {
                now.milliseconds - ago.components.seconds * 1_000
            }
            let sighting = FrameObserved.with {
                ($0.frame, $0.video) = ("f1", "youtube:a")
                $0.firstUnplayableAt = .init(milliseconds: time(first))
                $0.lastUnplayableAt = .init(milliseconds: time(last))
            }
            let proposal = try ProposedEvent(sighting: sighting, observedAt: now.milliseconds)
            try await store.log.append([proposal])
        }
        try await check("youtube:a", .playable)
        try await sight(.seconds(7_200), .seconds(600))
        #expect(try await entry("youtube:a").state == .unplayable)
        #expect(try await list(.unplayable) == ["youtube:a"])
        #expect(try await list(.playable) == [])
        place.clock.advance(by: .seconds(3_000))
        #expect(try await entry("youtube:a").state == .playable)
        #expect(try await list(.unplayable) == [])
        #expect(try await list(.playable) == ["youtube:a"])
        try await sight(.seconds(49 * 3_600), .seconds(0))
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
        #expect(YouTubeEntry.finding(nil) == .failed(reason: "unreachable"))
        #expect(
            YouTubeEntry.finding(YouTubeEntry(syndication: .denied))
                == .unplayable(reason: "syndication-denied"))
        #expect(
            YouTubeEntry.finding(YouTubeEntry(syndication: .allowed, isLive: true))
                == .unplayable(reason: "live"))
        #expect(YouTubeEntry.finding(YouTubeEntry(syndication: .allowed)) == .playable)
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
