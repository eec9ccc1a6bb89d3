import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Entries that were removed from a remote leave this store's lists, and no other entries do.
@Suite(.offTasks) struct RemovalTests {
    // MARK: - Shelby 2012

    /// A device that has read a channel, and the simulator of its remote.
    private struct Channel {
        let world = RemoteWorld { ShelbySimulator(seed: 7, at: $0) }
        let device: RemoteDevice

        init() throws {
            device = try Channel.device(world, seed: 1)
        }

        static func device(_ world: RemoteWorld, seed: UInt64) throws -> RemoteDevice {
            try RemoteDevice(
                world, "shelby",
                RemoteSecrets(
                    token: SimulatorAccount.oauthToken, tokenSecret: SimulatorAccount.oauthSecret),
                seed: seed, root: "/v2")
        }

        var broadcasts: [ShelbyV2World.Broadcast] {
            get throws { try #require(world.simulator as? ShelbySimulator).v2.world.broadcasts }
        }

        func change(_ body: (inout [ShelbyV2World.Broadcast]) -> Void) throws {
            var shelby = try #require(world.simulator as? ShelbySimulator)
            body(&shelby.v2.world.broadcasts)
            world.simulator = shelby
        }

        /// Syncs a minute later.
        func sync(_ device: RemoteDevice? = nil) throws {
            world.clock.advance(by: .seconds(60))
            try (device ?? self.device).sync()
        }

        func listed(_ device: RemoteDevice? = nil) throws -> Int {
            try (device ?? self.device).query {
                try $0.videos(limit: QueryLimits.pageCountMax).videos.reduce(0) {
                    $0 + $1.broadcasts
                }
            }
        }
    }

    @Test func missingBroadcastIsGoneAndReturns() throws {
        let channel = try Channel()
        try channel.sync()
        let before = try channel.listed()
        let gone = try channel.broadcasts[3]
        try channel.change { $0.remove(at: 3) }
        try channel.sync()
        #expect(try channel.listed() == before - 1)
        let recorded = try channel.device.recorded(BroadcastReceived.self).filter(\.removed)
        #expect(recorded.map(\.broadcast) == [gone.id])
        try channel.sync()
        #expect(try channel.device.recorded(BroadcastReceived.self).count(where: \.removed) == 1)
        try channel.change { $0.append(gone) }
        try channel.sync()
        #expect(try channel.listed() == before)
    }

    @Test func emptyListIsConfirmedByASecondPass() throws {
        let channel = try Channel()
        try channel.sync()
        let (before, all) = (try channel.listed(), try channel.broadcasts)
        try channel.change { $0 = [] }
        try channel.sync()
        #expect(try channel.listed() == before)
        try channel.change { $0 = all }
        try channel.sync()
        try channel.change { $0 = [] }
        try channel.sync()
        #expect(try channel.listed() == before, "a single empty list removes nothing")
        try channel.sync()
        #expect(try channel.listed() == 0)
    }

    /// The remote shows only its newest broadcasts.
    @Test func broadcastsDisplacedByNewerOnesStayListed() throws {
        let channel = try Channel()
        try channel.sync()
        let before = try channel.listed()
        let sorted = try channel.broadcasts.sorted { $0.createdAt < $1.createdAt }
        // A new broadcast displaces the oldest one.
        try channel.change { broadcasts in
            var new = sorted[sorted.count - 1]
            new.id = "4fffffffffffffffffffffff"
            new.createdAt += 1_000
            new.updatedAt = new.createdAt
            broadcasts = Array(sorted.dropFirst()) + [new]
        }
        try channel.sync()
        #expect(try channel.listed() == before + 1)
        #expect(try !channel.device.recorded(BroadcastReceived.self).contains(where: \.removed))
        // If the list becomes shorter, its oldest broadcast was removed.
        try channel.change { broadcasts in
            broadcasts.sort { $0.createdAt < $1.createdAt }
            broadcasts.removeFirst()
        }
        try channel.sync()
        #expect(try channel.listed() == before - 1)
    }

    @Test func errorsAndRedirectsRemoveNothing() throws {
        let channel = try Channel()
        try channel.sync()
        let before = try channel.listed()
        for status in [302, 404, 500] {
            for _ in 1...3 {
                channel.world.portal = { request in
                    request.path.hasSuffix("/broadcasts.json")
                        ? RemoteResponse(status: status, headers: [], body: Array("[]".utf8)) : nil
                }
                try channel.sync()
            }
        }
        #expect(try channel.listed() == before)
    }

    @Test func removalIsRecordedByOneDevice() throws {
        let channel = try Channel()
        let tablet = try Channel.device(channel.world, seed: 2)
        try channel.sync()
        try exchange(channel.device, tablet)
        try channel.change { $0.removeFirst() }
        try channel.sync()
        try exchange(channel.device, tablet)
        try channel.sync(tablet)
        #expect(try channel.listed(tablet) == channel.listed())
        #expect(try tablet.recorded(BroadcastReceived.self).count(where: \.removed) == 1)
    }

    /// The phone read the broadcast, and only the tablet still syncs.
    @Test func removalsOfBroadcastsReadByAnotherDeviceAreFound() throws {
        let channel = try Channel()
        let tablet = try Channel.device(channel.world, seed: 2)
        try channel.sync()
        try exchange(channel.device, tablet)
        try channel.change { $0.remove(at: 3) }
        try channel.sync(tablet)
        #expect(try tablet.recorded(BroadcastReceived.self).count(where: \.removed) == 1)
    }

    // MARK: - Shelby 2012 to 2014

    private func onRoll(_ device: RemoteDevice) throws -> Int {
        try device.query {
            try $0.videos(
                in: .listed(VideoGroup.personalRoll), at: UTCTime(milliseconds: 0),
                limit: QueryLimits.pageCountMax
            ).videos.count
        }
    }

    @Test func videoUnlikedElsewhereLeavesTheRoll() throws {
        let rig = ShelbyV1Rig()
        try rig.fillRoll(120)
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        let before = try onRoll(device)
        try device.append(ShelbyV1Rig.liked(video, true))
        try device.sync()
        try device.sync()
        #expect(try onRoll(device) == before + 1)
        for copy in try rig.copies() { try rig.change { $0.remove(copy.id) } }
        rig.world.clock.advance(by: .seconds(60))
        try device.sync()
        #expect(try onRoll(device) == before)
        let flags = try device.recorded(BroadcastReceived.self).filter(\.hasLiked).map(\.liked)
        #expect(flags.last == false)
    }

    /// Responds with 404 to requests for the comments on some answers.
    private func hideComments(_ desk: WhaleDesk, on answers: String...) {
        let paths = answers.map { "/api/v1/answers/\($0)/comments" }
        desk.world.portal = { request in
            request.method == "GET" && paths.contains(request.path)
                ? RemoteResponse(status: 404, headers: [], body: []) : nil
        }
    }

    @Test func listsThatAreNotFoundAreRequestedAgain() throws {
        let desk = try WhaleDesk()
        let tablet = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 2)
        hideComments(desk, on: "1", "2", "3")
        for _ in 1...2 {
            #expect(try syncLater(desk)?.unreadable.count == 3)
            #expect(try desk.device.status().reason == .notFound)
        }
        #expect(try desk.texts().isEmpty)
        // The other device does not regard the lists as read either.
        try exchange(desk.device, tablet)
        desk.world.portal = nil
        try tablet.sync()
        let texts = try tablet.query {
            try $0.comments(answer: "1").comments.compactMap(\.text)
        }
        #expect(texts == ["nice"])
        #expect(try syncLater(desk)?.unreadable == [])
        #expect(try desk.device.status().reason == nil)
        #expect(try desk.texts() == ["nice"])
    }

    @Test func listsOfRemovedAnswersAreDropped() throws {
        let desk = try WhaleDesk()
        hideComments(desk, on: "3")
        #expect(try syncLater(desk)?.unreadable.count == 1)
        try desk.change { $0.world.answers.removeAll { $0.id == 3 } }
        let first = desk.world.requests.count
        for _ in 1...3 { #expect(try syncLater(desk)?.unreadable == []) }
        let asked = desk.world.requests.dropFirst(first).filter {
            $0.path == "/api/v1/answers/3/comments"
        }
        #expect(asked.count == 1)
        #expect(try desk.device.status().reason == nil)
    }

    @Test func failedPassIsShownUntilOneSucceeds() throws {
        let desk = try WhaleDesk()
        try desk.comment("more", on: "3")
        try desk.settle()
        desk.world.portal = { request in
            request.method == "GET" && request.path.hasSuffix("/users")
                ? RemoteResponse(status: 400, headers: [], body: []) : nil
        }
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.device.status().reason == .remoteError)
        desk.world.portal = nil
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.device.status().reason == nil)
    }

    @Test func unlikedVideoLeavesTheRollAtOnce() throws {
        let rig = ShelbyV1Rig()
        try rig.fillRoll(120)
        let device = try rig.device()
        try device.sync()
        let video = try #require(try rig.untouched().first)
        let before = try onRoll(device)
        try device.append(ShelbyV1Rig.liked(video, true))
        try device.sync()
        try device.sync()
        try device.append(ShelbyV1Rig.liked(video, false))
        try device.sync()
        #expect(try onRoll(device) == before)
    }

    @Test func removedMessageIsGone() throws {
        let rig = ShelbyV1Rig()
        let device = try rig.device()
        let video = try #require(try rig.untouched().first)
        try device.append(
            ShelbyV1Rig.comment(video, "one"), ShelbyV1Rig.comment(video, "two"))
        try device.sync()
        try device.sync()
        func texts() throws -> [String] {
            try device.query {
                try $0.comments(video: video, limit: 100).comments.compactMap(\.text)
            }.filter { ["one", "two"].contains($0) }
        }
        #expect(Set(try texts()) == ["one", "two"])
        try rig.change { shelby in
            for id in shelby.conversations.keys {
                shelby.conversations[id]?.messages.removeAll { $0.text == "one" }
            }
        }
        rig.world.clock.advance(by: .seconds(60))
        try device.sync()
        #expect(try texts() == ["two"])
    }

    // MARK: - Whale

    @Test func removedCommentsAndLikesAreGone() throws {
        let desk = try WhaleDesk()
        try desk.comment("mine")
        try desk.settle()
        try desk.device.sync()
        #expect(Set(try desk.texts()) == ["nice", "mine"])
        func likers() throws -> [String?] {
            try desk.device.query { try $0.likers(of: "2").likers.map(\.user) }
        }
        #expect(try likers() == ["3"])
        try desk.change { whale in
            whale.world.comments.removeAll { $0.answer == 1 && $0.content == "nice" }
        }
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.texts() == ["mine"])
        // The counts become null, so there are no lists to read.
        try desk.change { whale in
            whale.world.comments.removeAll { $0.answer == 1 }
            whale.world.likes = []
        }
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.texts() == ["mine"], "one empty list proves nothing")
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync()
        #expect(try desk.texts().isEmpty)
        #expect(try likers().isEmpty)
    }

    @discardableResult
    private func syncLater(
        _ desk: WhaleDesk, crashing: CrashPoint? = nil
    ) throws -> RemoteReport? {
        desk.world.clock.advance(by: .seconds(60))
        return try desk.device.sync(crashing: crashing)
    }

    private func answers(_ desk: WhaleDesk) throws -> [String] {
        try desk.device.query {
            try $0.answers(limit: QueryLimits.pageCountMax).answers.map(\.id)
        }
    }

    private func questions(_ desk: WhaleDesk) throws -> [String] {
        try desk.device.query { try $0.questions(isPending: false).questions.map(\.id) }
    }

    @Test func removedAnswersAndQuestionsAreGoneAndReturn() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        #expect(try answers(desk) == ["3", "2", "1"])
        #expect(try questions(desk) == ["5", "4", "3", "2", "1"])
        let before = try desk.whale.world
        try desk.change { whale in
            whale.world.answers.removeAll { $0.id == 2 }
            whale.world.questions.removeAll { [2, 4].contains($0.id) }
        }
        try syncLater(desk)
        #expect(try answers(desk) == ["3", "2", "1"], "a single reading proves nothing")
        try syncLater(desk)
        #expect(try answers(desk) == ["3", "1"])
        #expect(try questions(desk) == ["5", "3", "1"])
        try desk.change { $0.world = before }
        try syncLater(desk)
        #expect(try answers(desk) == ["3", "2", "1"])
        #expect(try questions(desk) == ["5", "4", "3", "2", "1"])
    }

    /// If such a page ended the list, all later rows would count as removed.
    @Test(arguments: [0, 4]) func emptyPageBeforeTheLastOneRemovesNothing(_ number: Int) throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let before = try answers(desk)
        #expect(!before.isEmpty)
        desk.world.portal = { request in
            guard request.path.hasSuffix("/answers") else { return nil }
            let json = #"{"page":\#(number),"per_page":10,"total_pages":5,"data":[]}"#
            return RemoteResponse(status: 200, body: Array(json.utf8))
        }
        for _ in 0..<3 {
            desk.world.clock.advance(by: .seconds(7_200))
            #expect(try desk.device.sync()?.failure?.code == .unavailable)
        }
        #expect(try answers(desk) == before)
    }

    @Test func commentsAndLikesOfRemovedAnswersAreGoneAndReturn() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let searched = VideoProjections.standard.searched(in: .questions).map(\.name)
        /// Returns the comments on the answer 2, its likers, and the comments that a search finds.
        func shown() throws -> [[String]] {
            let hits = try desk.device.store.projections.read(searched) {
                try VideoQueries($0).search("nice", in: .questions).hits
            }
            let likers = try desk.device.query { try $0.likers(of: "2").likers }
            return [
                try desk.texts("2"), likers.compactMap(\.user),
                hits.compactMap(\.about).filter { $0 == "answer/2" },
            ]
        }
        let before = try shown()
        #expect(before == [["nice"], ["3"], ["answer/2"]])
        let world = try desk.whale.world
        try desk.change { whale in
            whale.world.answers.removeAll { $0.id == 2 }
            whale.world.comments.removeAll { $0.answer == 2 }
            whale.world.likes.removeAll { $0.answer == 2 }
        }
        try syncLater(desk)
        #expect(try shown() == before, "a single reading proves nothing")
        try syncLater(desk)
        #expect(try shown() == [[], [], []])
        // The user's comment is not lost.
        let comment = try desk.comment("mine", on: "2")
        #expect(try shown() == [[], [], []])
        #expect(try desk.device.outbox().map(\.event.id) == [comment])
        try syncLater(desk)
        #expect(try desk.device.outbox().map(\.event.id) == [comment])
        try desk.change { $0.world = world }
        try syncLater(desk)
        #expect(try shown() == [["nice", "mine"], ["3"], ["answer/2"]])
    }

    /// The answer would show a like that no remote has, and the user could not like it again.
    @Test func ownLikeThatWasRemovedElsewhereCanBeRepeated() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        func isLiked() throws -> Bool? { try desk.device.query { try $0.answer("3")?.isLiked } }
        _ = try desk.like("3")
        #expect(try isLiked() == true)
        try syncLater(desk)
        try syncLater(desk)
        #expect(try isLiked() == true)
        try desk.change { whale in whale.world.likes.removeAll { $0.answer == 3 } }
        try syncLater(desk)
        try syncLater(desk)
        #expect(try isLiked() == false)
        let again = try desk.device.query { try LikeAnswer("3", isOn: true).decide($0) }
        #expect(again.count == 1)
    }

    /// A question that was just answered is missing from the unanswered questions.
    @Test func answeredQuestionsAreNotRemoved() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.change { whale in
            whale.world.answers.append(
                WhaleWorld.Answer(
                    id: 4, question: 4, videoURL: "http://media.example.org/4",
                    thumbnailURL: "http://media.example.org/4.jpg", insertedAt: 1))
        }
        for _ in 1...3 { try syncLater(desk) }
        #expect(try answers(desk) == ["4", "3", "2", "1"])
        #expect(try !desk.device.recorded(QuestionObserved.self).contains(where: \.removed))
    }

    @Test func incompletePassRemovesNoAnswers() throws {
        let desk = try WhaleDesk()
        try desk.addAnswers { Int64($0) }
        try desk.device.sync()
        try desk.change { $0.world.answers.removeAll { $0.id == 200 } }
        for request in 1...12 {
            try syncLater(desk, crashing: .before(request))
            let removed = try desk.device.recorded(AnswerObserved.self).filter(\.removed)
            #expect(removed.map(\.answer).allSatisfy { $0 == "200" })
        }
        for _ in 1...2 { try syncLater(desk) }
        let removed = try desk.device.recorded(AnswerObserved.self).filter(\.removed)
        #expect(removed.map(\.answer) == ["200"])
    }

    @Test func questionsOfRemovedAnswersAreOpenAgain() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.change { $0.world.answers.removeAll { $0.id == 3 } }
        for _ in 1...3 { try syncLater(desk) }
        #expect(try answers(desk) == ["2", "1"])
        let open = try desk.device.query { try $0.questions().questions.map(\.id) }
        #expect(open == ["5", "4", "3"])
    }

    /// While a device reads the second page, an answer on the first page is removed, so an answer
    /// moves from the second page to the first.
    @Test func answersThatMoveBetweenPagesAreNotRemoved() throws {
        let desk = try WhaleDesk()
        try desk.addAnswers { Int64($0) }
        try desk.device.sync()
        for id in [258, 257] {
            desk.world.portal = { request in
                if request.path.hasSuffix("/answers"), request.query.contains(.init("page", "1")) {
                    try? desk.change { $0.world.answers.removeAll { $0.id == id } }
                }
                return nil
            }
            try syncLater(desk)
        }
        desk.world.portal = nil
        for _ in 1...2 { try syncLater(desk) }
        let removed = try desk.device.recorded(AnswerObserved.self).filter(\.removed)
        #expect(Set(removed.map(\.answer)) == ["258", "257"])
    }

    /// Answers with the same time have no fixed order, so each request may order them differently.
    @Test func answersWithoutAFixedOrderAreNotRemoved() throws {
        let desk = try WhaleDesk()
        try desk.addAnswers { _ in 1 }
        try desk.change { $0.adversary.shufflesTies = true }
        for _ in 1...8 { try syncLater(desk) }
        #expect(try !desk.device.recorded(AnswerObserved.self).contains(where: \.removed))
    }

    /// The device crashes between reading two pages of a list.
    @Test func incompletePassRemovesNothing() throws {
        let desk = try WhaleDesk()
        try desk.change { whale in
            for number in 10..<250 {
                whale.world.comments.append(
                    WhaleWorld.Comment(
                        id: number, content: "c\(number)", answer: 1, commenter: 2,
                        insertedAt: Int64(number)))
            }
        }
        try desk.device.sync()
        let before = try desk.device.recorded(CommentObserved.self).count
        try desk.change { $0.world.comments.removeAll { $0.id == 240 } }
        for request in 1...12 {
            desk.world.clock.advance(by: .seconds(60))
            try desk.device.sync(crashing: .before(request))
            let removed = try desk.device.recorded(CommentObserved.self).filter(\.removed)
            #expect(removed.map(\.comment).allSatisfy { $0 == "whale:240" })
        }
        try desk.device.sync()
        let all = try desk.device.recorded(CommentObserved.self)
        #expect(all.count == before + 1)
    }
}
