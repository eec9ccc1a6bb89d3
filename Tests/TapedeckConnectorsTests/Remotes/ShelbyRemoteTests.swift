import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Syncing with a simulator of Shelby's 2012 API.
@Suite(.offTasks) struct ShelbyRemoteTests {
    private static let secrets = RemoteSecrets(
        token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret)

    private static func world(_ adversary: SimulatorAdversary = .none, seed: UInt64 = 7)
        -> RemoteWorld
    {
        RemoteWorld { ShelbyV2Simulator(seed: seed, at: $0, adversary: adversary) }
    }

    private static func shelby(_ world: RemoteWorld) throws -> ShelbyV2Simulator {
        try #require(world.simulator as? ShelbyV2Simulator)
    }

    /// Returns a video that is not marked, liked or watched, with its broadcasts.
    private static func untouched(
        _ world: RemoteWorld
    ) throws -> (video: String, broadcasts: [ShelbyV2World.Broadcast]) {
        let all = try shelby(world).world.broadcasts.filter {
            ["youtube", "vimeo"].contains($0.provider)
        }
        let groups = Dictionary(grouping: all) { "\($0.provider):\($0.providerID)" }
        let found = groups.sorted { $0.key < $1.key }.first { group in
            group.value.allSatisfy {
                $0.isWatchLater != true && !$0.isLiked && !$0.isWatched
            }
        }
        let group = try #require(found)
        return (group.key, group.value)
    }

    private static func toggled(_ video: String, _ isOn: Bool) -> WatchLaterToggled {
        var event = WatchLaterToggled()
        event.video = video
        event.isOn = isOn
        return event
    }

    private static func liked(_ video: String, _ isOn: Bool) -> LikeToggled {
        var event = LikeToggled()
        event.video = video
        event.isOn = isOn
        return event
    }

    private static func progressed(
        _ video: String, _ position: Double, in viewing: String = "sofa"
    ) -> PlaybackProgressed {
        var event = PlaybackProgressed()
        event.video = video
        event.viewing = viewing
        event.positionSeconds = position
        event.durationSeconds = 100
        return event
    }

    private static func isMarked(_ video: String, _ world: RemoteWorld) throws -> Bool {
        try shelby(world).world.broadcasts.contains {
            "\($0.provider):\($0.providerID)" == video && $0.isWatchLater == true
        }
    }

    /// Changes broadcasts on the remote, as another client would.
    private static func change(
        _ ids: [String], _ world: RemoteWorld, _ body: (inout ShelbyV2World.Broadcast) -> Void
    ) throws {
        var shelby = try shelby(world)
        for index in shelby.world.broadcasts.indices
        where ids.contains(shelby.world.broadcasts[index].id) {
            shelby.world.broadcasts[index].updatedAt = Int64(world.clock.milliseconds)
            body(&shelby.world.broadcasts[index])
        }
        world.simulator = shelby
    }

    @Test func everythingIsReadOnce() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        let report = try #require(try device.sync())
        #expect(report.failure == nil)
        let broadcasts = try ShelbyRemoteTests.shelby(world).world.broadcasts.filter {
            ["youtube", "vimeo"].contains($0.provider)
        }
        // Each broadcast is recorded once, and so is each video.
        let videos = Set(broadcasts.map { "\($0.provider):\($0.providerID)" })
        #expect(report.pulled == broadcasts.count + videos.count)
        #expect(report.unreadable.isEmpty)
        let again = try #require(try device.sync())
        #expect(again.pulled == 0)
        #expect(world.simulator.violations.isEmpty)
        #expect(world.simulator.effects.isEmpty)
    }

    /// Broadcasts of one video that were shared at the same time may describe it differently.
    @Test func differingBroadcastsOfOneTimeAreReadOnce() throws {
        let world = ShelbyRemoteTests.world()
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        let shelby = try ShelbyRemoteTests.shelby(world)
        let other = try #require(
            shelby.world.broadcasts.first { "\($0.provider):\($0.providerID)" != video })
        for (title, ids) in [("One", broadcasts.map(\.id)), ("Two", [other.id])] {
            try ShelbyRemoteTests.change(ids, world) {
                ($0.provider, $0.providerID) = (broadcasts[0].provider, broadcasts[0].providerID)
                ($0.createdAt, $0.title) = (broadcasts[0].createdAt, title)
            }
        }
        let phone = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        let tablet = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets, seed: 2)
        for device in [phone, tablet] {
            let first = try #require(try device.sync())
            #expect(first.pulled > 0)
            for _ in 0..<3 {
                world.clock.advance(by: .seconds(60))
                let again = try #require(try device.sync())
                #expect(again.pulled == 0)
            }
        }
        try exchange(phone, tablet)
        for device in [phone, tablet] {
            let again = try #require(try device.sync())
            #expect(again.pulled == 0)
        }
        func description(_ device: RemoteDevice) throws -> String? {
            try device.query { try $0.details(of: video).description }
        }
        #expect(try description(phone) != nil && description(phone) == description(tablet))
    }

    @Test func offlineIntentsAreDeliveredOnce() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        try device.append(
            ShelbyRemoteTests.toggled(video, false), ShelbyRemoteTests.toggled(video, true),
            ShelbyRemoteTests.liked(video, true))
        var watched = VideoWatched()
        watched.video = video
        var shared = VideoShared()
        shared.video = video
        shared.destinations = ["twitter", "email"]
        shared.text = "look, ümläute & all"
        shared.to = "grace@example.org"
        try device.append(watched, shared)
        #expect(try device.outbox().map(\.state) == Array(repeating: .queued, count: 4))
        let report = try #require(try device.sync())
        #expect(report.pushed == 4)
        #expect(report.waitingCount == 0)
        try device.sync()
        let effects = world.simulator.effects
        #expect(
            effects.map(\.text).sorted() == [
                "liked_by_owner=true", "look, ümläute & all", "owner_watch_later=true",
                "watched_by_owner=true",
            ])
        #expect(world.simulator.violations.isEmpty)
        #expect(try device.outbox().isEmpty)
        #expect(try device.watchLater().contains(video))
    }

    /// This API has a flag, not a count of views.
    @Test func severalViewingsSetTheFlagOnce() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        for _ in 0..<3 { try device.append(VideoWatched.with { $0.video = video }) }
        let report = try #require(try device.sync())
        #expect(report.waitingCount == 0)
        #expect(world.simulator.effects.map(\.text) == ["watched_by_owner=true"])
        #expect(try device.outbox().isEmpty)
    }

    @Test func watchingAVideoClearsItsMarkAtTheRemote() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        try device.append(ShelbyRemoteTests.toggled(video, true))
        try device.sync()
        #expect(try ShelbyRemoteTests.isMarked(video, world))
        world.clock.advance(by: .seconds(60))
        try device.append(ShelbyRemoteTests.progressed(video, 80))
        #expect(try !device.watchLater().contains(video))
        let waiting = try device.outbox()
        #expect(waiting.map(\.isDerived) == [true])
        let report = try #require(try device.sync())
        #expect(report.pushed == 1)
        #expect(try !ShelbyRemoteTests.isMarked(video, world))
        #expect(try device.outbox().isEmpty)
        let count = world.simulator.effects.count
        try device.sync()
        #expect(world.simulator.effects.count == count)
        #expect(try !device.watchLater().contains(video))
    }

    /// The user watches a video that the remote shows as marked, and marks it again, all offline.
    @Test func videoMarkedAgainAfterAViewingStaysMarkedAtTheRemote() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        try ShelbyRemoteTests.change([broadcasts[0].id], world) { $0.isWatchLater = true }
        try device.sync()
        world.clock.advance(by: .seconds(60))
        try device.append(ShelbyRemoteTests.progressed(video, 80))
        world.clock.advance(by: .seconds(60))
        try device.append(ShelbyRemoteTests.toggled(video, true))
        for _ in 0..<2 { try device.sync() }
        #expect(try device.watchLater().contains(video))
        #expect(try ShelbyRemoteTests.isMarked(video, world))
        #expect(try device.outbox().isEmpty)
        world.clock.advance(by: .seconds(60))
        try device.append(ShelbyRemoteTests.progressed(video, 80, in: "kitchen"))
        try device.sync()
        #expect(try !device.watchLater().contains(video))
        #expect(try !ShelbyRemoteTests.isMarked(video, world))
    }

    @Test func togglesWithinOneSecondAreDeliveredInOrder() throws {
        let world = ShelbyRemoteTests.world()
        world.latency = 1
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        for _ in 0..<4 {
            try device.append(ShelbyRemoteTests.toggled(video, true))
            try device.sync()
            #expect(try device.watchLater().contains(video))
            try device.append(ShelbyRemoteTests.toggled(video, false))
            let report = try #require(try device.sync())
            #expect(report.waitingCount == 0)
            #expect(try !device.watchLater().contains(video))
            #expect(try !ShelbyRemoteTests.isMarked(video, world))
        }
        #expect(world.simulator.effects.count == 8)
    }

    /// A double tap: the user clears the mark while the request that sets it is in flight.
    @Test func markClearedDuringItsDeliveryIsClearedRemotely() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        try device.append(ShelbyRemoteTests.toggled(video, true))
        var isTakenBack = false
        world.weather = { request in
            guard request.method == "PUT", !isTakenBack else { return nil }
            isTakenBack = true
            #expect(throws: Never.self) {
                try device.append(ShelbyRemoteTests.toggled(video, false))
            }
            world.clock.advance(by: .seconds(3))
            return nil
        }
        try device.sync()
        try device.sync()
        #expect(isTakenBack)
        #expect(try !device.watchLater().contains(video))
        #expect(try !ShelbyRemoteTests.isMarked(video, world))
        #expect(try device.outbox().isEmpty)
        #expect(world.simulator.effects.count == 2)
    }

    /// A device that was offline delivers a mark to the remote after another device has cleared the
    /// mark.
    @Test func markDeliveredAfterItWasClearedIsClearedAgain() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        let on = try device.append(ShelbyRemoteTests.toggled(video, true))
        try device.append(ShelbyRemoteTests.toggled(video, false))
        try device.sync()
        #expect(world.simulator.effects.isEmpty)
        // The other device has already delivered its toggle; the confirmation arrives now.
        world.clock.advance(by: .seconds(60))
        let version = world.clock.milliseconds / 1_000 * 1_000
        try ShelbyRemoteTests.change([broadcasts[0].id], world) {
            ($0.isWatchLater, $0.updatedAt) = (true, Int64(version))
        }
        var outcome = OutcomeRecorded()
        outcome.system = "shelby"
        outcome.intent = on.description
        outcome.kind = .confirmed
        outcome.remoteID = broadcasts[0].id
        outcome.remoteVersion = version
        try device.store.log.appendBlocking([
            ProposedEvent(
                type: OutcomeRecorded.eventType, tags: [try VideoKey(video).tag],
                payload: try outcome.payload())
        ])
        for _ in 0..<2 { try device.sync() }
        #expect(try !device.watchLater().contains(video))
        #expect(try !ShelbyRemoteTests.isMarked(video, world))
        #expect(try device.outbox().isEmpty)
    }

    /// Another device reverts the like after this device has read it, so the intent must be
    /// delivered.
    @Test(arguments: [true, false])
    func stateReadBeforeAnIntentDoesNotConfirmIt(_ isOn: Bool) throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        func set(_ isLiked: Bool) throws {
            world.clock.advance(by: .seconds(60))
            try ShelbyRemoteTests.change([broadcasts[0].id], world) { $0.isLiked = isLiked }
        }
        try set(isOn)
        try device.sync()
        try device.sync { number in
            guard number == 1 else { return }
            try set(!isOn)
            try device.append(ShelbyRemoteTests.liked(video, isOn))
        }
        #expect(world.simulator.effects.map(\.text) == ["liked_by_owner=\(isOn)"])
        #expect(try device.outbox().isEmpty)
    }

    @Test func markClearedRemotelyIsClearedHere() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        try device.append(ShelbyRemoteTests.toggled(video, true))
        try device.sync()
        #expect(try device.watchLater().contains(video))
        // Another client clears the mark.
        world.clock.advance(by: .seconds(60))
        try ShelbyRemoteTests.change(broadcasts.map(\.id), world) { $0.isWatchLater = false }
        let effects = world.simulator.effects.count
        try device.sync()
        #expect(try !device.watchLater().contains(video))
        #expect(world.simulator.effects.count == effects)
    }

    @Test func refusedIntentsStayInTheOutboxUntilDropped() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, broadcasts) = try ShelbyRemoteTests.untouched(world)
        var shelby = try ShelbyRemoteTests.shelby(world)
        shelby.world.broadcasts.removeAll { row in broadcasts.contains { $0.id == row.id } }
        world.simulator = shelby
        let event = try device.append(ShelbyRemoteTests.liked(video, true))
        let report = try #require(try device.sync())
        #expect(report.refused.map(\.event) == [event])
        let again = try #require(try device.sync())
        #expect(again.refused.isEmpty && again.refusedBefore == 1, "each refusal is reported once")
        let requests = world.requests.count
        let preview = try device.preview()
        #expect(preview.refused.isEmpty && preview.refusedBefore == 1)
        #expect(world.requests.count == requests)
        try device.sync()
        #expect(world.requests.count == requests + 1, "the refused intent is not sent again")
        let remotes = StoreRemotes(device.store.log, device.store.projections)
        _ = try remotes.drop(event)
        #expect(try device.outbox().isEmpty)
    }

    @Test func intentsForUnknownVideosWaitWithAReason() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.append(ShelbyRemoteTests.liked("youtube:dQw4w9WgXcQ", true))
        let report = try #require(try device.sync())
        #expect(report.waiting.map(\.reason) == [.notThere])
        #expect(world.simulator.effects.isEmpty)
    }

    /// A comment stays in the store, whether or not the remote knows the video.
    @Test func commentsAreNotSent() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        for video in [try ShelbyRemoteTests.untouched(world).video, "youtube:dQw4w9WgXcQ"] {
            var comment = CommentPosted()
            comment.video = video
            comment.text = "mine"
            try device.append(comment)
        }
        #expect(try device.outbox().isEmpty)
        #expect(try #require(try device.sync()).waitingCount == 0)
        #expect(world.simulator.effects.isEmpty)
    }

    @Test func expiredTokenPausesTheSyncAndLosesNothing() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        let (video, _) = try ShelbyRemoteTests.untouched(world)
        let event = try device.append(ShelbyRemoteTests.liked(video, true))
        let granted = try ShelbyRemoteTests.shelby(world).world.tokens
        world.simulator.expireTokens()
        world.clock.advance(by: .seconds(30 * 86_400))
        let before = world.requests.count
        let report = try #require(try device.sync())
        #expect(report.failure?.code == .unauthorized)
        // The two requests are the refused read and one login.
        #expect(world.requests.count == before + 2)
        #expect(try device.outbox().map(\.event.id) == [event])
        var shelby = try ShelbyRemoteTests.shelby(world)
        shelby.world.tokens = granted
        world.simulator = shelby
        let after = try #require(try device.sync())
        #expect(after.pushed == 1)
        #expect(world.simulator.effects.map(\.text) == ["liked_by_owner=true"])
    }

    /// A live session with an expired token waits for a new login and sends no requests until then.
    @Test func liveSessionUsesALoginWrittenWhileItRuns() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(
            world, "shelby", RemoteSecrets(token: "ended", tokenSecret: "ended"))
        var session = try #require(try device.session(isLive: true))
        func idle(from first: RemoteSession.Step) throws -> UInt64 {
            var step = first
            while true {
                switch step {
                case .send(let request): step = try session.answered(try world.send(request))
                case .wait(let wait), .pause(let wait):
                    world.clock.set(milliseconds: wait.until)
                    step = try session.woken()
                case .idle(let until): return until
                case .end: throw SyncFailure(.internalError, "the live session has ended")
                }
            }
        }
        var until = try idle(from: session.begin())
        #expect(try device.status().reason == .unauthorized)
        #expect(session.report.wait?.reason == .unauthorized)
        let asked = world.requests.count
        for _ in 0..<5 {
            world.clock.set(milliseconds: until)
            until = try idle(from: session.woken())
        }
        #expect(world.requests.count == asked)

        try device.logIn(ShelbyRemoteTests.secrets)
        world.clock.set(milliseconds: until)
        _ = try idle(from: session.woken())
        #expect(session.report.pulled > 0)
        #expect(session.report.wait == nil)
        #expect(try device.status().reason == nil)
        guard case .end(nil) = try session.stop() else {
            Issue.record("the stopped session has not ended")
            return
        }
    }

    /// The token is replaced during a sync; the next request uses the new token.
    @Test func nextRequestUsesTheLatestLogin() throws {
        let world = ShelbyRemoteTests.world()
        let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
        try device.sync()
        try device.sync { number in
            guard number == 1 else { return }
            var shelby = try ShelbyRemoteTests.shelby(world)
            shelby.expireTokens()
            world.simulator = shelby
            try device.logIn(RemoteSecrets(token: "newer", tokenSecret: "newer"))
        }
        let last = try #require(world.requests.last)
        let header = last.headers.first { $0.name == "Authorization" }?.value ?? ""
        #expect(header.contains("newer"))
    }

    /// If a sync crashes at any point, the next sync resumes it.
    @Test(arguments: 1...14)
    func crashesLoseNothingAndRepeatNoShare(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let world = ShelbyRemoteTests.world()
            let device = try RemoteDevice(world, "shelby", ShelbyRemoteTests.secrets)
            let (video, _) = try ShelbyRemoteTests.untouched(world)
            var shared = VideoShared()
            shared.video = video
            shared.destinations = ["twitter"]
            shared.text = "once"
            try device.append(
                ShelbyRemoteTests.toggled(video, true), ShelbyRemoteTests.liked(video, true),
                shared)
            try device.sync(crashing: point)
            try device.sync()
            let effects = world.simulator.effects
            let shares = effects.count { $0.kind == .share }
            let unknown = try device.outbox().count {
                if case .unknown = $0.state { true } else { false }
            }
            // A share cannot be looked up: if its response is lost, its outcome is unknown.
            #expect(shares <= 1, "\(point)")
            let left = try device.outbox().map(\.state)
            #expect(shares == 1 || unknown == 1, "\(point): \(left), \(effects)")
            #expect(unknown <= 1, "\(point)")
            for flag in ["owner_watch_later=true", "liked_by_owner=true"] {
                let count = effects.count { $0.text == flag }
                #expect((1...2).contains(count), "\(point): \(flag) \(count) times")
            }
            #expect(try device.outbox().count == unknown, "\(point)")
            #expect(world.simulator.violations.isEmpty)
        }
    }

    @Test func everythingIsDeliveredDespiteHarshConditions() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var weather = SimulatorAdversary.harsh
            weather.tokenLifeMilliseconds = nil
            let world = ShelbyRemoteTests.world(weather, seed: seed)
            let device = try RemoteDevice(
                world, "shelby", ShelbyRemoteTests.secrets, seed: seed)
            let (video, _) = try ShelbyRemoteTests.untouched(world)
            try device.append(
                ShelbyRemoteTests.toggled(video, true), ShelbyRemoteTests.liked(video, true))
            for _ in 0..<6 {
                try device.sync()
                world.clock.advance(by: .seconds(30))
            }
            world.simulator.adversary = .none
            let report = try #require(try device.sync())
            #expect(report.failure == nil, "seed \(seed)")
            // Other users may have removed the broadcast.
            for delivery in try device.outbox() {
                if case .refused = delivery.state { continue }
                Issue.record("seed \(seed): \(delivery.event.type) is \(delivery.state)")
            }
            #expect(world.simulator.violations.isEmpty, "seed \(seed)")
        }
    }
}
