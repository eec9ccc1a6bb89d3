import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// Syncing with a simulated Whale server.
@Suite(.offTasks) struct WhaleRemoteTests {
    // MARK: - Reading

    @Test func everythingOnTheRemoteIsRead() throws {
        let desk = try WhaleDesk(small: false)
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil)
        #expect(report.unreadable.isEmpty)
        let world = try desk.whale.world
        try desk.device.query { queries in
            let answers = try queries.answers(limit: 500).answers
            #expect(Set(answers.map(\.id)) == Set(world.answers.map { String($0.id) }))
            #expect(answers.allSatisfy { $0.state == .published && $0.videoUrl != nil })
            for answer in answers {
                let comments = world.comments.filter { String($0.answer) == answer.id }
                let likes = world.likes.filter { String($0.answer) == answer.id }
                #expect(answer.commentCount == comments.count)
                // A count that is null in the response is nil here, not 0.
                #expect(answer.likeCount == (likes.isEmpty ? nil : likes.count))
                let shown = try queries.comments(answer: answer.id, limit: 500).comments
                #expect(shown.map(\.id) == comments.map(\.id).sorted().map { "whale:\($0)" })
                #expect(shown.map(\.text) == comments.sorted { $0.id < $1.id }.map(\.content))
                let likers = try queries.likers(of: answer.id, limit: 500)
                // Each user is listed once, in the order of the users' first likes.
                var users: [String] = []
                for like in likes.sorted(by: { $0.id < $1.id })
                where !users.contains(String(like.user)) { users.append(String(like.user)) }
                #expect(likers.likers.compactMap(\.user) == users && likers.count == users.count)
            }
            let all = try queries.questions(isPending: false, limit: 500).questions
            #expect(all.map(\.id) == world.questions.map(\.id).sorted(by: >).map { String($0) })
            let pending = try queries.questions(limit: 500).questions
            #expect(pending.count == world.questions.count - world.answers.count)
            let mine = try queries.questions(to: "1", limit: 500).questions
            #expect(mine.map(\.id) == pending.filter { $0.receiver == "1" }.map(\.id))
            #expect(mine.allSatisfy { $0.receiverName == world.users[0].username })
            #expect(try queries.users(limit: 500).users.count == world.users.count)
            let own = try #require(try queries.ownUsers().first)
            #expect(own.id == "1" && own.followerCount == 1 && own.followingCount == 1)
            #expect(try queries.user("2")?.followerCount == nil)
        }
        let requests = desk.world.requests.count
        desk.world.clock.advance(by: .seconds(60))
        let again = try #require(try desk.device.sync())
        #expect(again.pulled == 0)
        #expect(desk.world.requests.count == requests + 4, "only the lists are read again")
        #expect(desk.world.simulator.violations.isEmpty)
        #expect(desk.world.simulator.effects.isEmpty)
        #expect(desk.world.requests.count { $0.method == "POST" } == 1, "one login")
    }

    @Test func accountOfTheLoginIsShown() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let accounts = try desk.device.query { try $0.accounts().accounts }
        #expect(accounts.map(\.system) == ["whale"])
        let own = try desk.device.query { try $0.ownUsers() }
        #expect(accounts.map(\.account) == own.map(\.id))
        #expect(accounts.map(\.nickname) == own.compactMap(\.username))
    }

    @Test(arguments: ["Bearer a\u{7F}b", "Bearer a b", "Bearer "])
    func invalidTokensAreErrorsOfTheRemote(_ header: String) throws {
        let response = RemoteResponse(
            status: 201, headers: [.init("Authorization", header)],
            body: Array(#"{"id":1,"email":"a@example.org","username":"a"}"#.utf8))
        let error = #expect(throws: SyncFailure.self) {
            try WhaleConnector().login(WhaleDesk.secrets, [response])
        }
        #expect(error?.code == .remoteError)
        #expect(error?.message.contains("token") == true)
    }

    @Test func changedCountsLeadToNewRows() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        desk.world.clock.advance(by: .seconds(60))
        try desk.change { whale in
            whale.world.comments.append(
                WhaleWorld.Comment(
                    id: 9, content: "late", answer: 2, commenter: 3,
                    insertedAt: Int64(desk.world.clock.milliseconds)))
        }
        try desk.device.sync()
        #expect(try desk.texts("2") == ["nice", "late"])
        // The last like is removed, so the count of 1 becomes null.
        desk.world.clock.advance(by: .seconds(60))
        try desk.change { $0.world.likes = [] }
        try desk.device.sync()
        let answers = try desk.device.query { try $0.answers().answers }
        #expect(answers.allSatisfy { $0.likeCount == nil })
    }

    /// Pages to which a list refers are read even if the first sync ends before reaching them.
    @Test(arguments: 1...12)
    func crashesDuringReadingLoseNothing(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let desk = try WhaleDesk()
            try desk.device.sync(crashing: point)
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
            for answer in ["1", "2", "3"] {
                #expect(try desk.texts(answer) == ["nice"], "\(point)")
            }
            let likes = try desk.device.query { try $0.likers(of: "2").likers.map(\.user) }
            #expect(likes == ["3"], "\(point)")
        }
    }

    @Test func longListsAreReadPageByPage() throws {
        var weather = SimulatorAdversary.none
        weather.duplicateRate = 0.5
        weather.shufflesTies = true
        let desk = try WhaleDesk(weather)
        try desk.change { whale in
            for number in 4...350 {
                whale.world.comments.append(
                    WhaleWorld.Comment(
                        id: number, content: "c\(number)", answer: 1, commenter: 2,
                        insertedAt: Int64(number)))
            }
        }
        try desk.device.sync()
        let entry = try desk.device.query { try $0.answers().answers.first { $0.id == "1" } }
        #expect(entry?.commentCount == 348)
    }

    // MARK: - Delivering

    @Test func offlineIntentsAreDeliveredOnce() throws {
        let desk = try WhaleDesk()
        let first = try desk.comment("ümläute & all")
        try desk.comment("ümläute & all")
        try desk.comment("nice", on: "2")
        try desk.like("1")
        try desk.ask("why?")
        try desk.ask("why?")
        try desk.answer("4")
        let waiting = try desk.device.query { try $0.answers().answers }
        #expect(waiting.map(\.state) == [.waiting] && waiting.first?.question == "4")
        #expect(
            try desk.device.query { try $0.questions().questions.map(\.state) }
                == [.asking, .asking])
        #expect(try desk.texts() == ["ümläute & all", "ümläute & all"])
        let report = try #require(try desk.device.sync())
        #expect(report.waitingCount == 0 && report.refused.isEmpty)
        let expected = [
            "answerUploaded 4 ", "comment 1 ümläute & all", "comment 1 ümläute & all",
            "comment 2 nice", "like 1 ", "question 2 why?", "question 2 why?",
        ]
        #expect(desk.effects == expected)
        #expect(try desk.texts() == ["nice", "ümläute & all", "ümläute & all"])
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        desk.world.clock.advance(by: .seconds(60))
        let quiet = try #require(try desk.device.sync())
        #expect(quiet.pushed == 0 && quiet.pulled == 0)
        #expect(desk.effects == expected)
        #expect(try desk.device.outbox().isEmpty)
        #expect(desk.world.simulator.violations.isEmpty)
        try desk.device.query { queries in
            let comments = try queries.comments(answer: "1").comments
            #expect(comments.map(\.id) == ["whale:1", "whale:4", "whale:5"])
            #expect(comments[1].at != nil, "the time at which it was posted here")
            #expect(!comments.map(\.id).contains(first.description))
            let answers = try queries.answers().answers
            #expect(answers.map(\.id) == ["4", "3", "2", "1"])
            #expect(answers.allSatisfy { $0.state == .published })
            let asked = try queries.questions(to: "2").questions
            #expect(asked.map(\.state) == [.open, .open])
            #expect(try queries.questions(to: "1").questions.map(\.id) == ["5"])
        }
    }

    @Test func existingLikesAreNotRepeated() throws {
        let desk = try WhaleDesk()
        // Another client of the user likes the answer after this device has read it. This device
        // checks for the like before it delivers its own like.
        desk.world.weather = { [world = desk.world] request in
            guard request.method == "GET", request.path.hasSuffix("/3/likes"),
                var whale = world.simulator as? WhaleSimulator, whale.world.likes.count == 1
            else { return nil }
            let now = Int64(world.clock.milliseconds)
            whale.world.likes.append(
                WhaleWorld.Like(id: 7, user: 1, answer: 3, insertedAt: now))
            world.simulator = whale
            return nil
        }
        try desk.like("3")
        try desk.device.sync()
        #expect(try desk.whale.world.likes.count == 2)
        #expect(desk.effects.isEmpty)
        #expect(try desk.device.outbox().isEmpty)
    }

    @Test func unlikesAreRefusedBecauseWhaleHasNoRoute() throws {
        let desk = try WhaleDesk()
        try desk.like("1", false)
        try desk.device.sync()
        #expect(try desk.device.outbox().isEmpty, "there is no like to remove")
        try desk.like("1")
        try desk.device.sync()
        desk.world.clock.advance(by: .seconds(60))
        let event = try desk.like("1", false)
        let report = try #require(try desk.device.sync())
        #expect(report.refused.map(\.event) == [event])
        #expect(report.refused.map(\.code) == [.notFound])
    }

    @Test func refusedFollowsStillApplyLocally() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let event = try desk.device.append(
            FollowToggled.with { ($0.user, $0.follower, $0.isOn) = ("2", "1", true) })
        #expect(try desk.device.query { try $0.follows(of: "2").users.map(\.state) } == [.waiting])
        desk.world.clock.advance(by: .seconds(60))
        let report = try #require(try desk.device.sync())
        #expect(report.refused.map(\.event) == [event])
        #expect(report.refused.map(\.code) == [.notFound])
        try desk.device.query { queries in
            let follower = try #require(try queries.follows(of: "2").users.first)
            #expect(follower.id == "1" && follower.state == .refused)
            #expect(follower.code == "notFound" && follower.username == "user1")
            #expect(try queries.user("2")?.isFollowed == true)
        }
        #expect(desk.world.simulator.violations.isEmpty)
    }

    @Test func onlyThePictureOfTheProfileIsSent() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        func edit(_ write: (inout ProfileEdited) -> Void) throws -> EventID {
            desk.world.clock.advance(by: .seconds(60))
            var event = ProfileEdited()
            event.user = "1"
            write(&event)
            return try desk.device.append(event)
        }
        _ = try edit { $0.imageURL = "http://img.example.org/old.png" }
        _ = try edit { ($0.imageURL, $0.about) = ("http://img.example.org/new.png", "hello") }
        _ = try edit { $0.username = "countess" }
        let local = try edit { $0.imageURL = "file:///pictures/1.png" }
        var report = try #require(try desk.device.sync())
        #expect(report.refused.map(\.event) == [local])
        #expect(desk.effects == ["userImage 1 http://img.example.org/new.png"])
        _ = try edit { $0.imageURL = "http://img.example.org/newest.png" }
        report = try #require(try desk.device.sync())
        #expect(desk.effects.count == 2)
        #expect(desk.effects.last == "userImage 1 http://img.example.org/newest.png")
        #expect(try desk.device.outbox().map(\.event.id) == [local])
        try desk.device.query { queries in
            let found = try #require(try queries.user("1"))
            #expect(found.username == "countess" && found.about == "hello")
            #expect(found.imageUrl == "http://img.example.org/newest.png")
            #expect(found.edited == ["username", "about"])
        }
        #expect(desk.world.simulator.violations.isEmpty)
    }

    /// An edit that is never carried out must not keep an earlier edit from being sent.
    @Test(arguments: ["dropped", "invalid", "refused"])
    func editsThatAreNotCarriedOutReplaceNoPicture(_ end: String) throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let two = end == "invalid" ? "file:///two.png" : "http://img.example.org/two.png"
        try desk.edit { $0.imageURL = "http://img.example.org/one.png" }
        desk.world.clock.advance(by: .seconds(1))
        let later = try desk.edit { $0.imageURL = two }
        if end == "dropped" {
            _ = try StoreRemotes(desk.device.store.log, desk.device.store.projections).drop(later)
        }
        desk.world.portal = { request in
            guard end == "refused", request.method == "PATCH",
                case .form(let fields) = request.body, fields.map(\.value) == [two]
            else { return nil }
            let body = #"{"errors":{"image_url":["is invalid"]}}"#
            return RemoteResponse(status: 422, body: Array(body.utf8))
        }
        let report = try #require(try desk.device.sync())
        #expect(desk.effects == ["userImage 1 http://img.example.org/one.png"])
        #expect(report.refused.map(\.event) == (end == "dropped" ? [] : [later]))
        #expect(try desk.device.outbox().map(\.event.id) == (end == "dropped" ? [] : [later]))
    }

    /// An edit that a device drops after another device has delivered it still replaces the earlier
    /// edit, because the remote has carried it out.
    @Test func droppedEditsThatWereCarriedOutReplaceAPicture() throws {
        let (desk, server) = (try WhaleDesk(), SequencingServer())
        let tablet = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 8)
        for device in [desk.device, tablet] { try device.sync() }
        try desk.edit { $0.imageURL = "http://img.example.org/one.png" }
        desk.world.clock.advance(by: .seconds(1))
        let two = try tablet.append(
            ProfileEdited.with { ($0.user, $0.imageURL) = ("1", "http://img.example.org/two.png") })
        try server.sync(desk.device, tablet)
        try tablet.sync()
        desk.world.clock.advance(by: .seconds(1))
        _ = try StoreRemotes(desk.device.store.log, desk.device.store.projections).drop(two)
        try server.sync(desk.device, tablet)
        for device in [desk.device, tablet] { try device.sync() }
        #expect(desk.effects == ["userImage 1 http://img.example.org/two.png"])
    }

    /// A replaced edit is not sent, even by a device that did not know the later edit; and it is not
    /// confirmed, because nothing was carried out.
    @Test(arguments: [true, false]) func laterEditsReplaceAPicture(isSent: Bool) throws {
        let desk = try WhaleDesk()
        let tablet = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 8)
        for device in [desk.device, tablet] { try device.sync() }
        let one = try desk.edit { $0.imageURL = "http://img.example.org/one.png" }
        desk.world.clock.advance(by: .seconds(1))
        let two = ProfileEdited.with {
            $0.user = "1"
            // Whale has no route for removing a picture.
            if isSent { $0.imageURL = "http://img.example.org/two.png" }
            if !isSent { $0.cleared = ["imageUrl"] }
        }
        try tablet.append(two)
        desk.world.clock.advance(by: .seconds(1))
        try tablet.append(ProfileEdited.with { ($0.user, $0.about) = ("1", "hello") })
        try tablet.sync()
        try SequencingServer().sync(desk.device, tablet)
        try desk.device.sync()
        #expect(desk.effects == (isSent ? ["userImage 1 http://img.example.org/two.png"] : []))
        for device in [desk.device, tablet] {
            #expect(try device.outbox().isEmpty)
            let remotes = StoreRemotes(device.store.log, device.store.projections)
            let event = try #require(try device.store.log.event(one))
            #expect(try remotes.superseding(event, besides: []).map(\.name) == ["home"])
            #expect(try remotes.unsupported(for: event, besides: []).isEmpty)
            let outcomes = try device.store.log.events(
                after: .start, type: OutcomeRecorded.eventType)
            #expect(!outcomes.contains { $0.causation == one })
        }
    }

    /// The sync reads the other picture after the edit, although it was set before the edit.
    @Test func picturesSetElsewhereDoNotConfirmAnEdit() throws {
        let desk = try WhaleDesk()
        func show(_ name: String) throws {
            try desk.change { whale in
                let index = try #require(whale.world.users.firstIndex { $0.id == 1 })
                whale.world.users[index].imageURL = "http://img.example.org/\(name).png"
            }
        }
        func sync() throws -> String? {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync()
            return try desk.device.query { try $0.user("1")?.imageUrl }
        }
        try show("one")
        #expect(try sync() == "http://img.example.org/one.png")
        try show("two")
        var event = ProfileEdited()
        (event.user, event.imageURL) = ("1", "http://img.example.org/three.png")
        _ = try desk.device.append(event)
        _ = try sync()
        #expect(desk.effects == ["userImage 1 http://img.example.org/three.png"])
        #expect(try desk.device.outbox().isEmpty)
        #expect(try sync() == "http://img.example.org/three.png")
        // A picture set elsewhere after the delivery stays.
        try show("four")
        #expect(try sync() == "http://img.example.org/four.png")
        #expect(desk.effects.count == 1)
    }

    /// The web page of a captive portal does not confirm a change.
    @Test(arguments: ["<html>Sign in</html>", ""])
    func webPagesDoNotConfirmAPicture(_ body: String) throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        var event = ProfileEdited()
        (event.user, event.imageURL) = ("1", "http://img.example.org/new.png")
        _ = try desk.device.append(event)
        desk.world.portal = { request in
            request.method == "PATCH" ? RemoteResponse(status: 200, body: Array(body.utf8)) : nil
        }
        _ = try desk.device.sync()
        #expect(desk.effects.isEmpty)
        #expect(try desk.device.outbox().count == 1)
        desk.world.portal = nil
        desk.world.clock.advance(by: .seconds(600))
        _ = try desk.device.sync()
        #expect(desk.effects == ["userImage 1 http://img.example.org/new.png"])
        #expect(try desk.device.outbox().isEmpty)
    }

    @Test func refusalsHaveReasons() throws {
        let desk = try WhaleDesk()
        let nobody = try desk.ask("anybody?", "77")
        let foreign = try desk.answer("1")
        let other = try desk.answer("5", isHere: false)
        try desk.change { $0.world.answers.removeAll { $0.id == 1 } }
        let report = try #require(try desk.device.sync())
        let refused = Dictionary(
            report.refused.map { ($0.event, $0.code) }, uniquingKeysWith: { first, _ in first })
        #expect(refused[nobody] == .remoteError)
        #expect(refused[foreign] == .conditionFailed)
        #expect(report.refused.contains { $0.message.contains("receiver_id does not exist") })
        #expect(report.waiting.map(\.event) == [other])
        #expect(report.waiting.map(\.reason) == [.notThere])
        #expect(desk.world.simulator.effects.isEmpty)
        let states = try desk.device.query { queries in
            try queries.answers().answers.filter { $0.state != .published }.map {
                [$0.question, $0.state.rawValue, $0.code]
            }
        }
        #expect(states == [["1", "refused", "conditionFailed"], ["5", "waiting", nil]])
    }

    /// A refused comment or question must not look posted; a dropped one is no longer shown.
    @Test func refusedCommentsAndQuestionsAreNotShownAsPosted() throws {
        let desk = try WhaleDesk()
        let said = try desk.comment("hello", on: "1")
        let waiting = try desk.comment("not sent yet", on: "9")
        let asked = try desk.ask("anybody?", "77")
        func comments(_ answer: String) throws -> [CommentEntry] {
            try desk.device.query {
                try $0.comments(answer: answer).comments.filter { $0.state != .shown }
            }
        }
        func question() throws -> QuestionEntry? {
            try desk.device.query { try $0.questions(to: "77").questions.first }
        }
        #expect(try comments("1").map(\.state) == [.waiting])
        #expect(try question()?.state == .asking)
        desk.world.portal = { request in
            request.method == "POST" && request.path.hasSuffix("answers/1/comments")
                ? RemoteResponse(status: 400, body: []) : nil
        }
        let report = try #require(try desk.device.sync())
        #expect(Set(report.refused.map(\.event)) == [said, asked])
        let refused = try #require(try comments("1").first)
        #expect(refused.id == said.description && refused.state == .refused)
        #expect(refused.code == "remoteError" && refused.message?.isEmpty == false)
        #expect(try question()?.state == .refused)
        #expect(try question()?.code == "remoteError")
        #expect(try comments("9").map(\.state) == [.waiting])

        let remotes = StoreRemotes(desk.device.store.log, desk.device.store.projections)
        _ = try remotes.retry(said)
        #expect(try comments("1").map(\.state) == [.waiting])
        for event in [said, waiting, asked] { _ = try remotes.drop(event) }
        #expect(try comments("1").isEmpty && comments("9").isEmpty)
        #expect(try question() == nil)
    }

    /// The recordings are not on the remote, so they must not be confirmed.
    @Test func recordingsForAnsweredQuestionsAreRefused() throws {
        let desk = try WhaleDesk()
        let recorded = [try desk.answer("4"), try desk.answer("1")]
        // The user answers the question in another app.
        try desk.change { whale in
            whale.world.answers.append(
                WhaleWorld.Answer(
                    id: 9, question: 4, videoURL: "http://media.example.org/9",
                    thumbnailURL: "http://media.example.org/9.jpg", insertedAt: 1))
        }
        let report = try #require(try desk.device.sync())
        #expect(Set(report.refused.map(\.event)) == Set(recorded))
        #expect(report.refused.allSatisfy { $0.code == .conditionFailed })
        #expect(report.refused.contains { $0.message.contains("already has another answer") })
        #expect(desk.effects.isEmpty)
        #expect(Set(try desk.device.outbox().map(\.event.id)) == Set(recorded))
    }

    /// The server returns 422 only if the question was for another user.
    @Test func answersToQuestionsForOthersAreRefused() throws {
        let desk = try WhaleDesk()
        let event = try #require(try desk.device.store.log.event(try desk.answer("4")))
        let intent = Intent(event, key: try #require(event.tags.first))
        let delivery = Delivery(safety: .probe, request: RemoteRequest("POST", "/"))
        let account = RemoteAccount(user: "1", token: "t")
        let failure = #expect(throws: SyncFailure.self) {
            try WhaleConnector().confirm(
                RemoteResponse(status: 422), delivery, of: intent, account)
        }
        #expect(failure?.code == .conditionFailed)
        let accepted = try WhaleConnector().confirm(
            RemoteResponse(status: 201, body: Array(#"{"success":true}"#.utf8)), delivery,
            of: intent, account)
        #expect(!accepted.isDone)
    }

    // MARK: - Uploads

    @Test func silentlyLostUploadsAreSentAgain() throws {
        let desk = try WhaleDesk()
        var lossy = SimulatorAdversary.none
        lossy.uploadLossRate = 1
        var uploads = 0
        desk.world.weather = { request in
            guard case .parts = request.body else { return nil }
            uploads += 1
            return uploads == 1 ? lossy : nil
        }
        try desk.answer("4")
        let report = try #require(try desk.device.sync())
        #expect(report.waiting.map(\.reason) == [.unconfirmed])
        #expect(try desk.device.query { try $0.answers().answers.first?.state } == .uploading)
        desk.world.clock.advance(by: .seconds(300))
        try desk.device.sync()
        #expect(uploads == 1, "the upload may still arrive")
        desk.world.clock.advance(by: .seconds(301))
        try desk.settle()
        #expect(uploads == 2)
        #expect(desk.effects == ["answerUploaded 4 "])
        #expect(try desk.device.outbox().isEmpty)
    }

    @Test func slowUploadsAreSentOnce() throws {
        let desk = try WhaleDesk()
        try desk.change { $0.uploadMilliseconds = 300_000 }
        try desk.answer("4")
        try desk.settle()
        #expect(desk.world.requests.count { if case .parts = $0.body { true } else { false } } == 1)
        #expect(desk.effects == ["answerUploaded 4 "])
        #expect(try desk.device.outbox().isEmpty)
    }

    // MARK: - Tokens

    @Test(arguments: [true, false])
    func expiredTokenRequiresOnlyOneLogin(isToldBefore: Bool) throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.comment("after a month")
        if isToldBefore {
            desk.world.clock.advance(by: .seconds(31 * 86_400))
        } else {
            try desk.change { $0.expireTokens() }
        }
        let before = desk.world.requests.count
        let report = try #require(try desk.device.sync())
        #expect(report.failure == nil)
        let logins = desk.world.requests[before...].count {
            $0.method == "POST" && $0.path.hasSuffix("/sessions")
        }
        #expect(logins == 1)
        #expect(desk.effects == ["comment 1 after a month"])
        #expect(desk.world.simulator.violations.isEmpty)
    }

    @Test func wrongPasswordPausesTheRemote() throws {
        let desk = try WhaleDesk()
        try desk.change { $0.world.users[0].password = "changed" }
        let event = try desk.comment("kept")
        let report = try #require(try desk.device.sync())
        #expect(report.failure?.code == .unauthorized)
        #expect(desk.world.requests.count == 1)
        #expect(try desk.device.outbox().map(\.event.id) == [event])
    }
}
