import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TapedeckVideo
import TestSupport
import Testing

/// Lists whose links report only the number of their entries, such as the comments on an answer.
@Suite(.offTasks) struct CountedListTests {
    private static let answers = "/api/v1/answers"
    private static let comments = "/api/v1/answers/1/comments"
    private static let day = 86_400

    /// Syncs later, and returns the paths of the requested lists of comments and likes, sorted.
    @discardableResult
    private func sync(
        _ desk: WhaleDesk, after seconds: Int = 60, with device: RemoteDevice? = nil
    ) throws -> [String] {
        desk.world.clock.advance(by: .seconds(seconds))
        let first = desk.world.requests.count
        try (device ?? desk.device).sync()
        return desk.world.requests.dropFirst(first).filter { request in
            request.method == "GET"
                && ["/comments", "/likes"].contains(where: request.path.hasSuffix)
        }.map(\.path).sorted()
    }

    private func comment(_ id: Int, _ text: String) -> WhaleWorld.Comment {
        WhaleWorld.Comment(
            id: id, content: text, answer: 1, commenter: 2, insertedAt: 1_000 + Int64(id))
    }

    /// Lets a user act on the remote before it responds to each request for a path, until `portal`
    /// is changed.
    private func act(
        _ desk: WhaleDesk, before path: String, _ body: @escaping (inout WhaleWorld) -> Void
    ) {
        desk.world.portal = { request in
            if request.method == "GET", request.path == path {
                try? desk.change { body(&$0.world) }
            }
            return nil
        }
    }

    /// Delivers the user's pending actions while the list of answers cannot be read.
    private func deliverBlindly(_ desk: WhaleDesk) throws {
        desk.world.portal = { request in
            request.method == "GET" && request.path == CountedListTests.answers
                ? RemoteResponse(status: 400, headers: [], body: []) : nil
        }
        try desk.settle()
        #expect(try desk.device.outbox().isEmpty)
        desk.world.portal = nil
    }

    // MARK: - Lists that cannot be read

    /// One list that the remote cannot show must not stop the rest of the sync.
    @Test(arguments: [500, 200]) func failingListStopsNeitherChangesNorOtherLists(
        _ status: Int
    ) throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.change { $0.world.comments.append(comment(9, "new")) }
        desk.world.portal = { request in
            request.method == "GET" && request.path == CountedListTests.comments
                ? RemoteResponse(status: status, headers: [], body: []) : nil
        }
        try desk.comment("mine")
        desk.world.clock.advance(by: .seconds(60))
        try desk.device.sync(failuresMax: 3)
        #expect(desk.effects == ["comment 1 mine"])
        #expect(try desk.device.outbox().isEmpty)
        #expect(try desk.device.status().message?.contains("answers/1/comments") == true)
        desk.world.portal = nil
        try sync(desk)
        #expect(try Set(desk.texts()) == ["nice", "new", "mine"])
    }

    // MARK: - Changes that no count shows

    @Test func commentThatReplacesAnotherIsReadWithinADay() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.change { whale in
            whale.world.comments.removeAll { $0.id == 1 }
            whale.world.comments.append(comment(9, "new"))
        }
        #expect(try sync(desk) == [])
        #expect(try desk.texts() == ["nice"])
        let asked = try sync(desk, after: CountedListTests.day)
        #expect(asked.count == 4, "each list that is not empty is read once: \(asked)")
        #expect(try desk.texts() == ["new"])
        #expect(try sync(desk) == [])
    }

    @Test func commentAddedBetweenCountAndListIsRemoved() throws {
        let desk = try WhaleDesk()
        act(desk, before: CountedListTests.comments) { world in
            if !world.comments.contains(where: { $0.id == 9 }) {
                world.comments.append(comment(9, "late"))
            }
        }
        try desk.device.sync()
        #expect(try desk.texts() == ["nice", "late"])
        desk.world.portal = nil
        // The count is the same as the one that was read before the list.
        try desk.change { $0.world.comments.removeAll { $0.id == 9 } }
        #expect(try sync(desk) == [CountedListTests.comments])
        #expect(try desk.texts() == ["nice"])
        #expect(try sync(desk) == [])
    }

    @Test func commentRemovedBetweenCountAndListIsRemoved() throws {
        let desk = try WhaleDesk()
        try desk.change { $0.world.comments.append(comment(9, "early")) }
        try desk.device.sync()
        try desk.change { $0.world.comments.append(comment(10, "later")) }
        act(desk, before: CountedListTests.comments) { $0.comments.removeAll { $0.id == 9 } }
        try sync(desk)
        desk.world.portal = nil
        // The count is again the same as the one that was read before the list.
        try desk.change { $0.world.comments.append(comment(11, "last")) }
        #expect(try sync(desk) == [CountedListTests.comments])
        #expect(try desk.texts() == ["nice", "later", "last"])
        #expect(try sync(desk) == [])
    }

    @Test func commentRemovedAfterAnOwnDeliveryIsRemoved() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        try desk.comment("mine")
        try deliverBlindly(desk)
        #expect(try desk.texts() == ["nice", "mine"])
        try desk.change { $0.world.comments.removeAll { $0.id == 1 } }
        #expect(try sync(desk) == [CountedListTests.comments])
        #expect(try desk.texts() == ["mine"])
        #expect(try sync(desk) == [])
    }

    @Test func ownLikeRemovedBeforeItsCountWasReadIsRemoved() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        func isLiked() throws -> Bool? { try desk.device.query { try $0.answer("3")?.isLiked } }
        try desk.like("3")
        try deliverBlindly(desk)
        #expect(try desk.whale.world.likes.contains { $0.answer == 3 })
        try desk.change { whale in whale.world.likes.removeAll { $0.answer == 3 } }
        try sync(desk)
        #expect(try isLiked() == true, "one empty list proves nothing")
        try sync(desk)
        #expect(try isLiked() == false)
        #expect(try desk.device.query { try $0.likers(of: "3").likers.isEmpty })
        #expect(try sync(desk) == [])
        let daily = try sync(desk, after: CountedListTests.day)
        #expect(daily.count == 4 && !daily.contains { $0.hasPrefix("/api/v1/answers/3/likes") })
    }

    // MARK: - Requests

    /// The remote reports one comment, but its list contains none or two.
    @Test(arguments: [[], [1, 9]]) func wrongCountsCauseOneMoreReading(_ ids: [Int]) throws {
        let desk = try WhaleDesk()
        let tablet = try RemoteDevice(desk.world, "whale", WhaleDesk.secrets, seed: 2)
        let answer = comments(ids)
        desk.world.portal = { request in
            request.method == "GET" && request.path == CountedListTests.comments ? answer : nil
        }
        func isAsked(_ seconds: Int = 60, with device: RemoteDevice? = nil) throws -> Bool {
            try sync(desk, after: seconds, with: device).contains(CountedListTests.comments)
        }
        #expect(try (1...5).map { _ in try isAsked() } == [true, true, false, false, false])
        #expect(try desk.texts().count == ids.count)
        try exchange(desk.device, tablet)
        #expect(try !isAsked(with: tablet))
        #expect(try isAsked(CountedListTests.day))
        #expect(try !isAsked())
    }

    /// Returns the response for the comments on an answer that has the given comments.
    private func comments(_ ids: [Int]) -> RemoteResponse {
        let rows = ids.map { #"{"id":\#($0),"content":"c\#($0)","answer_id":1}"# }
        let json =
            #"{"page":0,"per_page":100,"total_pages":1,"data":[\#(rows.joined(separator: ","))]}"#
        return RemoteResponse(status: 200, body: Array(json.utf8))
    }

    /// Removals are found although the remote always counts one comment too many, and a list that
    /// is cut once removes nothing although the remote always counts too few.
    @Test(arguments: [true, false]) func removalsAreFoundDespiteWrongCounts(isTooHigh: Bool) throws
    {
        let desk = try WhaleDesk()
        var ids = isTooHigh ? [1] : [1, 2, 3, 4]
        if isTooHigh { try desk.change { $0.world.comments.append(comment(9, "c9")) } }
        desk.world.portal = { [self] request in
            guard request.method == "GET", request.path == CountedListTests.comments else {
                return nil
            }
            return comments(ids)
        }
        for _ in 0..<3 { try sync(desk) }
        #expect(try desk.texts().count == ids.count)
        if isTooHigh {
            // One comment leaves and one arrives.
            ids = [5]
            try sync(desk, after: CountedListTests.day)
            #expect(try desk.texts() == ["c5"])
        } else {
            let all = ids
            ids = [1, 2]
            try sync(desk, after: CountedListTests.day)
            #expect(try desk.texts().count == 4)
            ids = all
            try sync(desk, after: CountedListTests.day)
            #expect(try desk.texts().count == 4)
            // A comment that is missing twice was removed.
            ids = [1, 2, 3]
            for _ in 0..<2 { try sync(desk, after: CountedListTests.day) }
            #expect(try desk.texts() == ["c1", "c2", "c3"])
        }
    }

    @Test func dailyReadingsAreSpreadOverSeveralSyncs() throws {
        let desk = try WhaleDesk()
        try desk.addAnswers { Int64($0) }
        try desk.change { whale in
            for id in 10..<260 {
                whale.world.comments.append(
                    WhaleWorld.Comment(
                        id: id, content: "c", answer: id, commenter: 2, insertedAt: Int64(id)))
            }
        }
        #expect(try sync(desk).count == 254)
        #expect(try sync(desk) == [])
        let asked = try [CountedListTests.day, 60, 60, 60].map { try sync(desk, after: $0) }
        #expect(asked.map(\.count) == [100, 100, 54, 0])
        #expect(Set(asked.joined()).count == 254)
    }

    /// Earlier versions of this program recorded only the count.
    @Test func marksOfEarlierVersionsAreValid() throws {
        let desk = try WhaleDesk()
        try desk.device.sync()
        let log = desk.device.store.log
        let read = try log.events(
            after: LogPosition(rawValue: 0), limit: 1_000, type: FeedRead.eventType)
        #expect(read.count == 4)
        for event in read {
            var mark = try event.decode(FeedRead.self)
            mark.mark = "1"
            var proposed = try ProposedEvent(mark)
            proposed.tags = event.tags
            _ = try log.appendBlocking([proposed])
        }
        #expect(try sync(desk) == [])
        #expect(try sync(desk, after: CountedListTests.day) == [])
        try desk.change { $0.world.comments.append(comment(9, "late")) }
        #expect(try sync(desk) == [CountedListTests.comments])
        #expect(try desk.texts() == ["nice", "late"])
        #expect(try sync(desk) == [])
    }
}
