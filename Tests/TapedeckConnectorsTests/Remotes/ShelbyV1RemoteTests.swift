import Tapedeck
import TapedeckConnectors
import TapedeckModel
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Syncing with a simulator of Shelby's 2012–2014 API.
@Suite(.offTasks) struct ShelbyV1RemoteTests {
    // MARK: - Addresses

    @Test func urlPathSelectsTheAPI() throws {
        let host = "http://127.0.0.1:1"
        #expect(Connectors.named("shelby", url: host + "/v1") is ShelbyV1Connector)
        for path in ["", "/v2", "/V1", "/v11", "/v1/more"] {
            #expect(Connectors.named("shelby", url: host + path) is ShelbyConnector)
        }
    }

    @Test func urlThatEndsInV2SelectsTheV2API() throws {
        let world = RemoteWorld { ShelbySimulator(seed: 7, at: $0) }
        let device = try RemoteDevice(
            world, "shelby",
            RemoteSecrets(
                token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret),
            root: "/v2")
        let report = try #require(try device.sync())
        #expect(report.pulled > 0)
        #expect(world.simulator.violations.isEmpty)
    }

    // MARK: - Reading

    @Test func everythingIsReadOnce() throws {
        let rig = ShelbyV1Rig()
        try rig.share(130)
        let device = try rig.device()
        let report = try #require(try device.sync())
        #expect(report.failure == nil)
        #expect(report.unreadable.isEmpty)
        let shown = try rig.shown()
        let broadcasts = try device.recorded(BroadcastReceived.self)
        #expect(broadcasts.map(\.broadcast).sorted() == shown.map(\.id))
        let world = try rig.shelby().world
        let messages = Set(shown.compactMap(\.conversation)).flatMap {
            world.conversations[$0]?.messages ?? []
        }
        let comments = try device.recorded(CommentObserved.self)
        #expect(comments.map(\.comment).sorted() == messages.map { "shelby:" + $0.id }.sorted())
        #expect(broadcasts.allSatisfy { $0.hasCreatedAt && $0.hasLiked && !$0.liked })
        // The requests are one login, five pages of the dashboard and one page of the roll.
        #expect(rig.world.requests.count == 7)
        // Rows that were less than two hours old are read once more, because other rows may have
        // appeared below them.
        rig.world.clock.advance(by: .seconds(86_400))
        let again = try #require(try device.sync())
        #expect(again.pulled == 0)
        #expect(rig.world.requests.count == 11)
        // The newest rows are now a day old, so no more rows can appear below them, and only the
        // first pages are read.
        try device.sync()
        #expect(rig.world.requests.count == 13)
        #expect(rig.world.simulator.violations.isEmpty)
        #expect(rig.world.simulator.effects.isEmpty)
    }

    @Test func rowsAddedDuringAPassAreNotMissed() throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var others = SimulatorAdversary.none
            others.othersMilliseconds = 80
            others.lateRate = 0.3
            let rig = ShelbyV1Rig(others, seed: seed)
            try rig.share(120)
            let device = try rig.device(seed: seed)
            for _ in 0..<5 {
                try device.sync()
                rig.world.clock.advance(by: .seconds(5))
            }
            rig.world.simulator.adversary = .none
            try device.sync()
            let broadcasts = try device.recorded(BroadcastReceived.self)
            let found = Set(broadcasts.map(\.broadcast))
            let missing = try rig.shown().filter { !found.contains($0.id) }
            #expect(missing.isEmpty, "seed \(seed): \(missing.count) are missing")
            #expect(rig.world.simulator.violations.isEmpty, "seed \(seed)")
        }
    }

    @Test(arguments: 1...6)
    func interruptedCatchUpLeavesNoGap(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let rig = ShelbyV1Rig()
            let device = try rig.device()
            try device.sync()
            rig.world.clock.advance(by: .seconds(86_400))
            try rig.share(170)
            try device.sync(crashing: point)
            rig.world.clock.advance(by: .seconds(86_400))
            try device.sync()
            let found = Set(try device.recorded(BroadcastReceived.self).map(\.broadcast))
            #expect(try rig.shown().allSatisfy { found.contains($0.id) }, "\(point)")
            // From now on, reading the newest page is sufficient again.
            let before = rig.world.requests.count
            try device.sync()
            #expect(rig.world.requests.count == before + 2, "\(point)")
        }
    }

    // MARK: - Delivering

    @Test func offlineIntentsAreDeliveredOnce() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        try device.append(
            ShelbyV1Rig.liked(video, false), ShelbyV1Rig.liked(video, true),
            ShelbyV1Rig.comment(video, "first, ümläute & all"),
            ShelbyV1Rig.comment(video, "twice"), ShelbyV1Rig.comment(video, "twice"),
            ShelbyV1Rig.shared(video, "look"), ShelbyV1Rig.watched(video, to: 61.5))
        let report = try #require(try device.sync())
        #expect(report.pushed == 6)
        #expect(report.waitingCount == 0)
        #expect(try rig.effects(.like).count == 1)
        #expect(
            try rig.effects(.comment).map(\.text) == ["first, ümläute & all", "twice", "twice"])
        #expect(try rig.effects(.share).map(\.detail) == ["facebook,twitter"])
        #expect(try rig.effects(.watched).map(\.text) == ["0-61.5"])
        #expect(try rig.effects(.watched).map(\.detail) == ["view,complete"])
        #expect(try device.outbox().isEmpty)
        // Each posted comment is matched with a different remote comment.
        let posted = try device.recorded(CommentObserved.self).filter(\.hasPostedAs)
        #expect(posted.count == 3)
        #expect(Set(posted.map(\.postedAs)).count == 3)
        #expect(Set(posted.map(\.comment)).count == 3)
        let count = rig.world.simulator.effects.count
        try device.sync()
        #expect(rig.world.simulator.effects.count == count)
        #expect(rig.world.simulator.violations.isEmpty)
    }

    @Test func everyViewingIsSent() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        try device.append(
            VideoWatched.with { $0.video = video },
            VideoWatched.with {
                ($0.video, $0.startSeconds, $0.endSeconds) = (video, 0, 61.5)
            },
            VideoWatched.with {
                ($0.video, $0.startSeconds, $0.endSeconds) = (video, 61.5, 90)
            },
            VideoWatched.with { ($0.video, $0.isComplete) = (video, true) })
        let report = try #require(try device.sync())
        #expect(report.pushed == 4 && report.waitingCount == 0)
        #expect(try rig.effects(.watched).map(\.text) == ["0-0", "0-61.5", "61.5-90", ""])
        #expect(try rig.effects(.watched).map(\.detail) == ["view", "", "", "complete"])
        #expect(try device.outbox().isEmpty)
        #expect(rig.world.simulator.violations.isEmpty)
    }

    /// The remote would count an old view as a new one.
    @Test func oldViewingsAreNotSent() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        let old = try device.append(ShelbyV1Rig.watched(video, to: 10))
        rig.world.clock.advance(by: Connectors.watchedAgeMax + .seconds(1))
        try device.append(ShelbyV1Rig.watched(video, to: 20))
        #expect(try device.outbox().count == 1)
        try device.sync()
        #expect(try rig.effects(.watched).map(\.text) == ["0-20"])
        #expect(try device.outbox().isEmpty)
        let event = try #require(try device.store.log.event(old))
        let remotes = StoreRemotes(device.store.log, device.store.projections)
        #expect(try remotes.expired(event, besides: []).map(\.name) == ["home"])
        #expect(try remotes.unsupported(for: event, besides: []).isEmpty)
    }

    @Test func visitsAreSentOnce() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let account = try rig.account().id
        try device.append(
            SignedIn.with { ($0.account, $0.system) = (account, Shelby.system) },
            // Another account's visit does not count for this account.
            VisitStarted.with { ($0.account, $0.system) = ("another", Shelby.system) })
        for visit in try device.query({ try StartVisit().decide($0) }) {
            try device.append(visit)
        }
        let report = try #require(try device.sync())
        #expect(report.pushed == 1 && report.waitingCount == 0)
        try device.sync()
        #expect(try rig.effects(.visit).map(\.text) == ["ios"])
        #expect(try rig.shelby().world.users[account]?.visits == ["ios": 1])
        #expect(try device.outbox().isEmpty)
        #expect(rig.world.simulator.violations.isEmpty)
    }

    @Test func unlikingRemovesTheCopyThatTheLikeMade() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        for round in 1...3 {
            try device.append(ShelbyV1Rig.liked(video, true))
            try device.sync()
            #expect(try rig.effects(.like).count == round)
            #expect(try rig.copies().count == 1)
            try device.append(ShelbyV1Rig.liked(video, false))
            try device.sync()
            #expect(try rig.effects(.unlike).count == round)
            #expect(try rig.copies().isEmpty)
            #expect(try device.outbox().isEmpty, "round \(round)")
        }
        #expect(rig.world.simulator.violations.isEmpty)
    }

    @Test func videosLikedElsewhereAreNotLikedAgain() throws {
        let rig = ShelbyV1Rig()
        let video = try #require(try rig.untouched().first)
        let frame = try #require(try rig.shown().first { try rig.key($0) == video })
        let other = try rig.device(seed: 2)
        try other.sync()
        try other.append(ShelbyV1Rig.liked(video, true))
        try other.sync()
        #expect(try rig.effects(.like).map(\.entity) == [frame.id])
        let device = try rig.device()
        try device.append(ShelbyV1Rig.liked(video, true))
        let report = try #require(try device.sync())
        #expect(report.waitingCount == 0)
        #expect(try rig.effects(.like).count == 1)
        let liked = try device.recorded(BroadcastReceived.self).filter(\.liked)
        #expect(liked.map(\.broadcast) == [frame.id])
        // The device did not create the copy, but knows which copy to remove.
        try device.append(ShelbyV1Rig.liked(video, false))
        try device.sync()
        #expect(try rig.copies().isEmpty)
    }

    @Test func watchLaterMarksAreNotSent() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        var marked = WatchLaterToggled()
        marked.video = video
        marked.isOn = true
        try device.append(marked)
        try device.sync()
        #expect(rig.world.simulator.effects.isEmpty)
        #expect(try device.outbox().isEmpty)
        #expect(try device.watchLater() == [video])
    }

    // MARK: - Tokens

    @Test func expiredTokenIsReplacedByOneLogin() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let videos = try rig.untouched()
        try device.append(
            ShelbyV1Rig.liked(videos[0], true), ShelbyV1Rig.comment(videos[1], "still there"))
        rig.world.simulator.expireTokens()
        let before = rig.world.requests.count
        let report = try #require(try device.sync())
        #expect(report.failure == nil)
        #expect(report.pushed == 2)
        let logins = rig.world.requests[before...].filter { $0.path == "/token" }
        #expect(logins.count == 1)
        #expect(try rig.effects(.like).count == 1)
        #expect(try rig.effects(.comment).count == 1)
        #expect(try device.outbox().isEmpty)
    }

    /// The remote counts a like that is sent without a login, but does not attribute it to a user.
    @Test func tokenExpiryBeforeALikeLosesNothing() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        try device.append(ShelbyV1Rig.liked(video, true))
        var hasEnded = false
        rig.world.weather = { request in
            guard request.method == "PUT", !hasEnded else { return nil }
            hasEnded = true
            var weather = SimulatorAdversary.none
            weather.tokenLifeMilliseconds = 0
            return weather
        }
        let before = rig.world.requests.count
        let report = try #require(try device.sync())
        #expect(report.failure == nil)
        #expect(rig.world.requests[before...].count { $0.path == "/token" } == 1)
        try device.sync()
        let likes = rig.world.simulator.effects.filter { $0.kind == .like }
        #expect(likes.contains { $0.account.isEmpty })
        #expect(try rig.effects(.like).count == 1)
        #expect(try rig.copies().count == 1)
        #expect(try device.outbox().isEmpty)
    }

    @Test func wrongPasswordEndsTheSyncAndLosesNothing() throws {
        let rig = ShelbyV1Rig()
        try rig.change { world in
            for id in world.users.keys { world.users[id]?.password = "changed" }
        }
        let device = try rig.device()
        let event = try device.append(ShelbyV1Rig.liked("youtube:dQw4w9WgXcQ", true))
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized)
        #expect(rig.world.requests.count == 1)
        #expect(try device.store.log.event(event) != nil)
    }

    /// If a remote grants logins and then rejects them, the session does not keep trying.
    @Test func rejectedLoginsAreNotRepeatedEndlessly() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        rig.world.simulator.adversary.tokenLifeMilliseconds = 0
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized)
        #expect(rig.world.requests.count < 6)
    }

    /// The tablet does not know that the phone has removed the like, and sends its own earlier like.
    @Test func earlierToggleThatReachesTheRemoteLaterDoesNotWin() throws {
        let rig = ShelbyV1Rig()
        let (phone, tablet) = (try rig.device(seed: 1), try rig.device(seed: 2))
        try phone.sync()
        try exchange(phone, tablet)
        let video = try #require(try rig.untouched().first)
        try tablet.append(ShelbyV1Rig.liked(video, true))
        rig.world.clock.advance(by: .seconds(1))
        try phone.append(ShelbyV1Rig.liked(video, true))
        try phone.sync()
        rig.world.clock.advance(by: .seconds(1))
        try phone.append(ShelbyV1Rig.liked(video, false))
        try phone.sync()
        #expect(try rig.copies().isEmpty)
        rig.world.clock.advance(by: .seconds(1))
        try tablet.sync()
        #expect(try rig.copies().count == 1)
        try exchange(phone, tablet)
        rig.world.clock.advance(by: .seconds(60))
        try phone.sync()
        try exchange(phone, tablet)
        try tablet.sync()
        #expect(try rig.copies().isEmpty)
        for device in [phone, tablet] {
            let likes = try device.query {
                try $0.videos(in: .likes, at: UTCTime(milliseconds: 0)).videos.map(\.key)
            }
            #expect(try !likes.contains(video) && device.outbox().isEmpty)
        }
        let effects = rig.world.simulator.effects.count
        for _ in 0..<2 {
            rig.world.clock.advance(by: .seconds(60))
            try exchange(phone, tablet)
            try phone.sync()
            try tablet.sync()
        }
        #expect(rig.world.simulator.effects.count == effects, "nothing is left to do")
    }
}
