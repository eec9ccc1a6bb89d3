import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Syncing with a simulated BirdTube server.
@Suite(.offTasks) struct BirdTubeRemoteTests {
    private static let new = "youtube:brandnewone"

    // MARK: - Reading

    @Test func everythingIsReadWithoutALogin() throws {
        let desk = try BirdTubeDesk(small: false, isSignedIn: false)
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil && report.unreadable.isEmpty)
        let world = try desk.birdTube.world
        try desk.device.query { queries in
            let new = try queries.submissions(order: .new, limit: 500).videos
            #expect(Set(new.map(\.key)) == Set(world.videos.map { "youtube:\($0.id)" }))
            let times = new.compactMap(\.createdAt?.milliseconds)
            #expect(times == times.sorted(by: >) && times.count == world.videos.count)
            let popular = try queries.submissions(order: .popular, limit: 500).videos
            #expect(popular.map(\.views) == world.videos.map(\.viewer).sorted(by: >))
            for video in world.videos {
                let entry = try #require(new.first { $0.key == "youtube:\(video.id)" })
                #expect(entry.title == video.title && entry.thumbnail == video.thumbnail)
                #expect(entry.owner == String(video.owner) && entry.url == video.url)
                #expect(entry.createdAt?.milliseconds == video.createdAt / 1_000 * 1_000)
                let said = world.messages.filter { $0.channel == video.channel }.sorted {
                    ($0.at, $0.id) < ($1.at, $1.id)
                }
                let shown = try queries.chat(
                    video: entry.key, isGuestAllowed: true, limit: 500
                ).messages
                #expect(shown.map(\.id) == said.map { String($0.id) })
                #expect(shown.map(\.isGuest) == said.map(\.isGuest))
                #expect(shown.map(\.kind) == said.map(\.kind))
                #expect(shown.compactMap(\.file?.url) == said.compactMap(\.file?.url))
            }
        }
        let before = desk.world.requests.count
        desk.world.clock.advance(by: .seconds(60))
        let again = try #require(try desk.device.sync())
        #expect(again.pulled == 0)
        // The sync reads the list once, and the newest page of each chat.
        #expect(desk.world.requests.count - before <= world.videos.count + 4)
        #expect(desk.requests("/signin") == 0)
        #expect(desk.world.simulator.violations.isEmpty && desk.effects.isEmpty)
    }

    @Test func rowsThatMoveDuringAPassAreNotMissed() throws {
        var weather = SimulatorAdversary.none
        weather.duplicateRate = 0.5
        let desk = try BirdTubeDesk(isSignedIn: false, weather)
        let now = Int64(desk.world.clock.milliseconds)
        try desk.change { birdTube in
            birdTube.world.messages = []
            birdTube.world.videos = (1...230).map {
                BirdTubeDesk.video(10 + $0, at: now - 9_000_000 + Int64($0) * 1_000)
            }
        }
        // While each page is read, other users submit one video and open another video.
        var more = 1_000
        desk.world.weather = { [world = desk.world] request in
            guard request.path == "/video/list", more < 1_010,
                var birdTube = world.simulator as? BirdTubeSimulator
            else { return nil }
            more += 1
            birdTube.world.videos.append(
                BirdTubeDesk.video(more, at: Int64(world.clock.milliseconds)))
            birdTube.world.videos[more % 230].viewer += 100
            world.simulator = birdTube
            return nil
        }
        try desk.device.sync()
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        let shown = try desk.device.query { queries in
            try queries.submissions(order: .new, limit: 500).videos
        }
        let world = try desk.birdTube.world
        #expect(Set(shown.map(\.key)) == Set(world.videos.map { "youtube:\($0.id)" }))
        #expect(shown.count == 240 && shown.count { $0.views == 100 } == 10)
    }

    @Test func errorsWithStatus200AreFailures() throws {
        let page = RemotePage("videos")
        let answer = RemoteResponse(
            status: 200, body: Array(#"{"result":"error","message":"no tables"}"#.utf8))
        let failure = #expect(throws: SyncFailure.self) {
            try BirdTubeConnector().read(answer, of: page, .anonymous)
        }
        #expect(failure?.code == .remoteError)
        #expect(failure?.message.contains("no tables") == true)
    }

    @Test func readingStopsIfTheServerIgnoresTheOffset() throws {
        let row = #"{"video_id":"videovideo1","viewer":1}"#
        let answer = RemoteResponse(
            status: 200, body: Array(#"{"result":"success","video_list":[\#(row)]}"#.utf8))
        let near = try BirdTubeConnector().read(answer, of: RemotePage("videos", "5"), .anonymous)
        #expect(near.next == RemotePage("videos", "6"))
        let far = try BirdTubeConnector().read(
            answer, of: RemotePage("videos", "1000000"), .anonymous)
        #expect(far.next == nil && far.refused.count == 1)
    }

    @Test func simultaneousMessagesBeyondAPageAreAllRead() throws {
        let desk = try BirdTubeDesk(isSignedIn: false)
        let at = Int64(desk.world.clock.milliseconds) - 6_000_000
        try desk.change { birdTube in
            for number in 10..<260 {
                birdTube.world.messages.append(
                    BirdTubeWorld.Message(
                        id: Int64(number), channel: BirdTubeDesk.channel(1),
                        at: (80..<200).contains(number) ? at : at + Int64(number) - 130,
                        text: "m\(number)"))
            }
        }
        try desk.device.sync()
        #expect(try desk.texts().count == 251)
        // Later messages are on the first page; known messages are not read again.
        try desk.change { birdTube in
            birdTube.world.messages.append(
                BirdTubeWorld.Message(
                    id: 900, channel: BirdTubeDesk.channel(1), at: at + 1_000, text: "late"))
        }
        let before = desk.requests("/channel/messages")
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.texts().last == "late")
        #expect(desk.requests("/channel/messages") - before <= 4)
    }

    @Test func missingChatBridgeIsReportedOnce() throws {
        let desk = try BirdTubeDesk(small: false)
        try desk.change { $0.hasBridge = false }
        let listed = try #require(try desk.birdTube.world.videos.first)
        let said = try desk.say("hello", beside: "youtube:\(listed.id)")
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil)
        #expect(report.unreadable.isEmpty)
        #expect(report.missing == ["chats, because the server has no POST /channel/messages"])
        #expect(desk.requests("/channel/messages") == 1)
        #expect(report.refused.map(\.event) == [said] && report.refused.map(\.code) == [.notFound])
        let count = try desk.device.query { try $0.submissions(limit: 500).videos.count }
        #expect(count == 64)
        #expect(try desk.device.status().readAt != nil)
    }

    // MARK: - Logging in

    @Test func accountIsShownWithoutItsSession() throws {
        let desk = try BirdTubeDesk()
        try desk.device.sync()
        try desk.say("hello")
        try desk.settle()
        let account = try #require(try desk.device.query { try $0.accounts().accounts.first })
        #expect(account.account == SimulatorAccount.user && account.nickname == "user1")
        #expect(account.system == "birdtube" && account.email == SimulatorAccount.user)
        let log = try Data(
            contentsOf: URL(fileURLWithPath: desk.device.place.directory + "/log.mdb"))
        for secret in ["session1", SimulatorAccount.password, "0f1e2d3c4b5a"] {
            #expect(log.range(of: Data(secret.utf8)) == nil)
        }
    }

    @Test(arguments: [
        (#"{"result":"error","message":"User not found."}"#, 200, ErrorCode.notFound),
        (#"{"result":"error","message":"Password is incorrect."}"#, 200, .unauthorized),
        (#"{"result":"error","message":"The email exists."}"#, 200, .conditionFailed),
        (#"{"result":"error","message":"You cannot sign up."}"#, 200, .remoteError),
        (#"{"result":"error"}"#, 200, .remoteError), (#"{"result":"success"}"#, 200, .remoteError),
        (#"{"result":"success","user":{"email":"a@b.c"}}"#, 200, .remoteError),
        (#"{"result":"success","user":{"email":7,"session":"s"}}"#, 200, .remoteError),
        ("[]", 200, .unavailable), ("", 200, .unavailable), ("<html>", 500, .unavailable),
        ("", 429, .throttled),
    ])
    func refusedLoginsMapToErrorCodes(_ body: String, _ status: Int, _ code: ErrorCode) throws {
        let answer = RemoteResponse(status: status, body: Array(body.utf8))
        for step in [BirdTubeConnector().login, BirdTubeConnector().signUp] {
            let failure = #expect(throws: SyncFailure.self) {
                _ = try step(BirdTubeDesk.secrets, [answer])
            }
            #expect(failure?.code == code)
            if status == 500 { #expect(failure?.message.contains("wrong address") == true) }
        }
    }

    @Test func signingUpTakesTheNicknameFromTheAddress() throws {
        let desk = try BirdTubeDesk(isSignedIn: false)
        let secrets = RemoteSecrets(user: "grace@example.org", password: "compiler")
        guard case .send(let request, nil) = try BirdTubeConnector().signUp(secrets, []) else {
            Issue.record("no request is sent")
            return
        }
        let answer = try desk.world.send(request)
        guard
            case .done(let account, let observations) = try BirdTubeConnector().signUp(
                secrets, [answer])
        else {
            Issue.record("the sign-up is not done")
            return
        }
        #expect(account.user == "grace@example.org" && account.expiresAt == nil)
        #expect(try desk.birdTube.world.users.last?.nickname == "grace")
        #expect(observations.count == 1 && desk.world.simulator.violations.isEmpty)
        // The Whale connector does not support signing up.
        let failure = #expect(throws: SyncFailure.self) { try WhaleConnector().signUp(secrets, []) }
        #expect(failure?.code == .usage)
    }

    // MARK: - Submissions

    /// The web page of a captive portal does not confirm a view.
    @Test(arguments: ["<html>Sign in</html>", ""])
    func webPagesDoNotConfirmAView(_ body: String) throws {
        let desk = try BirdTubeDesk()
        try desk.device.sync()
        let before = desk.effects
        let view = try desk.open(viewing: "1")
        desk.world.portal = { request in
            request.path == "/video/view"
                ? RemoteResponse(status: 200, body: Array(body.utf8)) : nil
        }
        try desk.device.sync()
        #expect(desk.effects == before)
        #expect(try desk.device.outbox().map(\.event.id) == [view])
    }

    @Test func offlineIntentsAreDeliveredOnce() throws {
        let desk = try BirdTubeDesk()
        try desk.submit(Self.new, title: "Neu & ümläut")
        try desk.say("same")
        try desk.say("same")
        let file = ChatFile.with {
            ($0.url, $0.name) = ("https://example.org/a.png", "a.png")
            ($0.type, $0.bytes) = ("image/png", 12)
        }
        try desk.device.append(
            ChatMessagePosted.with { ($0.video, $0.file) = (BirdTubeDesk.key(2), file) })
        try desk.open(viewing: "1")
        try desk.settle()
        let wanted = [
            "comment videovideo1 same", "comment videovideo1 same",
            "comment videovideo2 https://example.org/a.png", "submission brandnewone Neu & ümläut",
            "view videovideo1 ",
        ]
        #expect(desk.effects == wanted)
        #expect(try desk.texts() == ["nice", "same", "same"])
        #expect(try desk.texts(BirdTubeDesk.key(2)).last == "https://example.org/a.png")
        for _ in 0..<2 {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
        }
        #expect(desk.effects == wanted && desk.world.simulator.violations.isEmpty)
        #expect(try desk.device.outbox().isEmpty)
        let video = try #require(
            try desk.device.query { try $0.submission(video: Self.new) })
        #expect(video.state == .registered && video.owner == "1")
        #expect(video.url == "https://www.youtube.com/watch?v=brandnewone")
        let said = try desk.device.query {
            try $0.chat(video: BirdTubeDesk.key(1), isGuestAllowed: true).messages
        }
        #expect(said.allSatisfy { $0.state == .shown })
    }

    @Test func intentsThatRequireAnAccountWaitForALogin() throws {
        let desk = try BirdTubeDesk(isSignedIn: false)
        let wanted = [try desk.submit(Self.new), try desk.say("hello")]
        try desk.open(viewing: "1")
        let report = try #require(try desk.device.sync())
        #expect(desk.effects == ["view videovideo1 "])
        #expect(report.waiting.map(\.event) == wanted)
        #expect(report.waiting.allSatisfy { $0.reason == .signInRequired })
        #expect(report.failure == nil && desk.requests("/video/register") == 0)
        try desk.device.logIn(BirdTubeDesk.secrets)
        try desk.settle()
        #expect(desk.requests("/signin") == 1)
        #expect(
            desk.effects == [
                "comment videovideo1 hello", "submission brandnewone Mine", "view videovideo1 ",
            ])
        #expect(try desk.device.outbox().isEmpty)
    }

    @Test func existingVideosSucceedAndInvalidOnesAreRefused() throws {
        let desk = try BirdTubeDesk()
        // Another user submits the video after this device has read the list and before it delivers
        // its own submission.
        desk.world.weather = { [world = desk.world] request in
            guard request.path == "/video/register",
                var birdTube = world.simulator as? BirdTubeSimulator,
                !birdTube.world.videos.contains(where: { $0.id == "brandnewone" })
            else { return nil }
            var video = BirdTubeDesk.video(4, at: Int64(world.clock.milliseconds))
            video.id = "brandnewone"
            birdTube.world.videos.append(video)
            world.simulator = birdTube
            return nil
        }
        try desk.submit(Self.new)
        try desk.submit(BirdTubeDesk.key(2))
        let odd = try desk.submit("youtube:short")
        let report = try #require(try desk.device.sync())
        #expect(desk.effects.isEmpty)
        #expect(report.refused.map(\.event) == [odd])
        #expect(report.refused.first?.code == .remoteError)
        #expect(report.refused.first?.message.contains("can't be registered") == true)
        // A video that is already listed is not sent at all.
        #expect(desk.requests("/video/register") == 2)
        #expect(try desk.device.outbox().map(\.event.id) == [odd])
        let shown = try desk.device.query { try $0.submission(video: "youtube:short") }
        #expect(shown?.state == .refused)
        // A new submission replaces the refused submission.
        let second = try desk.submit("youtube:short")
        #expect(try desk.device.outbox().map(\.event.id) == [second])
    }

    /// A refused video has no chat and no views.
    @Test func messagesAboutARefusedSubmissionAreRefused() throws {
        let desk = try BirdTubeDesk()
        let odd = try desk.submit("youtube:short")
        let said = try desk.say("hello", beside: "youtube:short")
        try desk.open("youtube:short", by: SimulatorAccount.user, viewing: "1")
        let report = try #require(try desk.device.sync())
        #expect(report.refused.map(\.event) == [odd, said])
        #expect(report.refused.last?.code == .remoteError)
        #expect(
            report.refused.last?.message.hasPrefix("the submission of youtube:short was refused")
                == true)
        #expect(report.waitingCount == 0)
        #expect(desk.effects.isEmpty)
    }

    /// The message waits until the video is listed.
    @Test func messagesAboutANewSubmissionFollowIt() throws {
        let desk = try BirdTubeDesk()
        try desk.submit("youtube:short")
        try desk.device.sync()
        // The user submits the video again.
        try desk.submit("youtube:short")
        let said = try desk.say("hello", beside: "youtube:short")
        desk.world.portal = { request in
            request.path == "/video/register" ? RemoteResponse(status: 503) : nil
        }
        try desk.device.sync(failuresMax: 1)
        let outbox = try desk.device.outbox()
        #expect(outbox.first { $0.event.id == said }?.isOver == false)
    }

    // MARK: - Views

    @Test func viewsAreSentOncePerViewerAndWindow() throws {
        let desk = try BirdTubeDesk(isSignedIn: false)
        try desk.open(viewing: "1", hours: -50)
        try desk.open(viewing: "2", hours: -49)
        try desk.open(viewing: "3", hours: -2)
        try desk.open(viewing: "3", hours: -1)
        try desk.open(by: "guest", viewing: "4")
        try desk.open("youtube:elsewhere12", viewing: "5")
        try desk.settle()
        #expect(desk.effects == Array(repeating: "view videovideo1 ", count: 3))
        #expect(try desk.device.outbox().isEmpty)
        var views = try desk.device.query { try $0.views(video: BirdTubeDesk.key(1)) }
        #expect(views.views == 3 && views.own == 3 && views.observed == 0)
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        views = try desk.device.query { try $0.views(video: BirdTubeDesk.key(1)) }
        #expect(views.views == 3 && views.own == 0 && views.observed == 3)
        #expect(desk.effects.count == 3 && desk.world.simulator.violations.isEmpty)
    }

    /// An earlier opening, recorded on another device, arrives after this device has sent its view.
    @Test func lateEarlierOpeningIsNotSentAgain() throws {
        let desk = try BirdTubeDesk()
        try desk.open(viewing: "2")
        try desk.settle()
        desk.world.clock.advance(by: .seconds(60))
        try desk.open(viewing: "1", hours: -10)
        // Two devices have recorded the same viewing.
        try desk.open(viewing: "2", hours: -1)
        try desk.settle()
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(desk.effects == ["view videovideo1 "])
        #expect(try desk.device.outbox().isEmpty)
        let views = try desk.device.query { try $0.views(video: BirdTubeDesk.key(1)) }
        #expect(views.views == 1 && views.observed == 1)
    }

    @Test(arguments: [true, false])
    func viewsWithAnUnknownOutcomeAreNotSentAgain(isAfter: Bool) throws {
        let desk = try BirdTubeDesk()
        let shears = Shears(desk.world, isAfter: isAfter) { $0.path == "/video/view" }
        let event = try desk.open(viewing: "1")
        try desk.settle()
        for _ in 0..<2 {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
        }
        #expect(shears.cuts == 1)
        #expect(desk.effects.count == (isAfter ? 1 : 0))
        let left = try desk.device.outbox()
        #expect(left.map(\.event.id) == [event] && left.allSatisfy(\.isOver))
        // If the count in the list has risen, it may already include this view, so the view is not
        // added.
        let views = try desk.device.query { try $0.views(video: BirdTubeDesk.key(1)) }
        #expect(views.views == 1 && views.own == (isAfter ? 0 : 1))
        // The user can still request that the view be sent.
        _ = try StoreRemotes(desk.device.store.log, desk.device.store.projections).retry(event)
        try desk.settle()
        #expect(desk.effects.count == (isAfter ? 2 : 1))
    }

    // MARK: - Chats

    @Test func sentMessageIsFoundAmongManyLaterOnes() throws {
        let desk = try BirdTubeDesk()
        try desk.device.sync()
        _ = Shears(desk.world, isAfter: true) { $0.path == "/channel/send" }
        try desk.say("hello")
        try desk.device.sync()
        // Other users keep sending messages, for much longer than the maximum difference between
        // clocks.
        try desk.change { birdTube in
            let now = Int64(desk.world.clock.milliseconds)
            for number in 1...200 {
                birdTube.world.messages.append(
                    BirdTubeWorld.Message(
                        id: Int64(100 + number), channel: BirdTubeDesk.channel(1),
                        at: now + Int64(number) * 10_000, text: "m\(number)"))
            }
        }
        desk.world.clock.advance(by: .seconds(3_600))
        try desk.settle()
        #expect(desk.effects == ["comment videovideo1 hello"])
        #expect(try desk.texts().count { $0 == "hello" } == 1)
        #expect(try desk.texts().count == 202)
        #expect(try desk.device.outbox().isEmpty)
    }

    @Test func messageWaitsUntilItsVideoIsListed() throws {
        let desk = try BirdTubeDesk()
        let said = try desk.say("first!", beside: Self.new)
        try desk.submit(Self.new)
        let report = try #require(try desk.device.sync())
        #expect(report.waiting.map(\.event) == [said])
        #expect(report.waiting.map(\.reason) == [.notThere])
        desk.world.clock.advance(by: .seconds(60))
        try desk.settle()
        #expect(desk.effects == ["comment brandnewone first!", "submission brandnewone Mine"])
    }

    @Test func messagesOfAnotherAccountAreNotSent() throws {
        let desk = try BirdTubeDesk()
        let said = try desk.say("hello", as: "grace@example.org")
        let report = try #require(try desk.device.sync())
        #expect(report.waiting.map(\.event) == [said])
        // A new login would not help.
        #expect(report.waiting.map(\.reason) == [.conditionFailed] && desk.effects.isEmpty)
        #expect(report.waiting.first?.message.contains("until you drop it") == true)
    }
}
