import TapedeckModel
import TapedeckSync
import TapedeckVideo
import Testing

@testable import TapedeckConnectors

/// Reading responses from Shelby's 2012–2014 API.
struct ShelbyV1DocumentTests {
    private static let account = RemoteAccount(user: "4f00000000000000000000aa", token: "t")
    private static let id = "4f0000000000000000000001"

    private static func read(
        _ json: String, status: Int = 200
    ) throws(SyncFailure) -> RemoteContent {
        try ShelbyV1Connector().read(
            RemoteResponse(status: status, body: Array(json.utf8)),
            of: RemotePage("dashboard"), account)
    }

    private static func code(_ json: String, status: Int) -> ErrorCode? {
        do throws(SyncFailure) {
            _ = try read(json, status: status)
            return nil
        } catch {
            return error.code
        }
    }

    private static func entry(_ frame: String, action: Int = 0) -> String {
        #"{"status":200,"result":[{"id":"\#(id)","action":\#(action),"frame":\#(frame)}]}"#
    }

    private static func frame(_ more: String, video: String? = nil) -> String {
        let video = video ?? #"{"provider_name":"youtube","provider_id":"abc"}"#
        return #"{"id":"\#(id)","video":\#(video)\#(more.isEmpty ? "" : ",")\#(more)}"#
    }

    @Test func errorCodesDependOnStatusAndBody() {
        let told = #"{"status":401,"message":"you must be authenticated","errors":{}}"#
        #expect(ShelbyV1DocumentTests.code(told, status: 404) == .unauthorized)
        #expect(ShelbyV1DocumentTests.code(told, status: 200) == .unauthorized)
        let foreign = #"{"status":403,"message":"that is somebody else's roll"}"#
        #expect(ShelbyV1DocumentTests.code(foreign, status: 403) == .remoteError)
        #expect(ShelbyV1DocumentTests.code("", status: 429) == .throttled)
        #expect(ShelbyV1DocumentTests.code("<html>", status: 500) == .unavailable)
        #expect(ShelbyV1DocumentTests.code("<html>", status: 200) == .unavailable)
        #expect(ShelbyV1DocumentTests.code("[]", status: 200) == .unavailable)
        #expect(ShelbyV1DocumentTests.code(#"{"status":200}"#, status: 200) == .unavailable)
        #expect(
            ShelbyV1DocumentTests.code(#"{"status":200,"result":7}"#, status: 200) == .remoteError)
    }

    /// The sharer's first message is a comment; the broadcast refers to it instead of repeating it.
    @Test func aSharersTextIsOneComment() throws {
        let json = ShelbyV1DocumentTests.entry(
            ShelbyV1DocumentTests.frame(
                """
                "creator":{"id":"x","nickname":"ann","user_image":"http://i.example.org/ann.jpg"},
                "conversation":{"id":"4f0000000000000000000009","messages":[
                {"id":"4f0000000000000000000002","user_id":"x","nickname":"ann","text":"look"}]}
                """,
                video: """
                    {"provider_name":"youtube","provider_id":"abc","title":"T","duration":"213",
                    "description":"About T.","thumbnail_url":"http://i.example.org/abc.jpg"}
                    """))
        let observations = try ShelbyV1DocumentTests.read(json).observations
        let broadcast = try #require(
            observations.first { $0.type == BroadcastReceived.eventType }.map {
                try BroadcastReceived(payload: $0.payload, version: 1)
            })
        let id = "shelby:4f0000000000000000000002"
        #expect(broadcast.message == id && !broadcast.hasComment)
        #expect(broadcast.sharerImageURL == "http://i.example.org/ann.jpg")
        let comments = try observations.filter { $0.type == CommentObserved.eventType }.map {
            try CommentObserved(payload: $0.payload, version: 1).comment
        }
        #expect(comments == [id])
        let described = try #require(
            observations.first { $0.type == VideoDescribed.eventType }.map {
                try VideoDescribed(payload: $0.payload, version: 1)
            })
        #expect(described.title == "T" && described.durationSeconds == 213)
        #expect(described.thumbnailURL == "http://i.example.org/abc.jpg")
    }

    /// A response from another server or from a captive portal does not prove that a session has
    /// ended, and neither does a response about an unknown token.
    @Test func onlyConfirmedDeletionsEndSessions() {
        let unknown = #"{"status":404,"message":"Invalid token."}"#
        let cases: [(String, Int, ErrorCode?)] = [
            (#"{"status":200,"result":{}}"#, 200, nil), (unknown, 404, .unauthorized),
            (unknown, 200, .unauthorized), (#"{"status":401,"message":"no"}"#, 401, .unauthorized),
            (#"{"status":500}"#, 500, .unavailable), ("<html>", 200, .unavailable),
            ("<html>", 404, .notFound), ("", 401, .unauthorized), ("{}", 404, .notFound),
            ("", 503, .unavailable),
        ]
        for (json, status, code) in cases {
            let failure = ShelbyV1Connector().logOutFailure(
                RemoteResponse(status: status, body: Array(json.utf8)))
            #expect(failure?.code == code, "\(status) \(json)")
        }
    }

    @Test func entriesHiddenByTheOriginalClientAreSkipped() throws {
        let plain = ShelbyV1DocumentTests.frame("")
        let created = ShelbyV1DocumentTests.frame(#""creator":{"id":"x","nickname":"ann"}"#)
        let none = ShelbyV1DocumentTests.frame(#""creator":{"id":"x"}"#, video: "null")
        for (json, count) in [
            (ShelbyV1DocumentTests.entry(created), 3), (ShelbyV1DocumentTests.entry(plain), 0),
            (ShelbyV1DocumentTests.entry(plain, action: 31), 3),
            (ShelbyV1DocumentTests.entry(plain, action: 33), 3),
            (ShelbyV1DocumentTests.entry(created, action: 3), 0),
            (ShelbyV1DocumentTests.entry(created, action: 9), 0),
            (ShelbyV1DocumentTests.entry(created, action: 10), 0),
            (ShelbyV1DocumentTests.entry("null", action: 14), 0),
            (ShelbyV1DocumentTests.entry(none), 0),
        ] {
            let content = try ShelbyV1DocumentTests.read(json)
            #expect(content.observations.count == count, "\(json)")
            #expect(content.refused.isEmpty, "\(json)")
        }
    }

    @Test func unplayableTimesAreReadWithTheFrame() throws {
        func times(_ more: String) throws -> (first: Int64?, last: Int64?) {
            let video = #"{"provider_name":"youtube","provider_id":"abc"\#(more)}"#
            let frame = ShelbyV1DocumentTests.frame(#""creator":{"id":"x"}"#, video: video)
            let content = try ShelbyV1DocumentTests.read(ShelbyV1DocumentTests.entry(frame))
            let observation = try FrameObserved(
                payload: content.observations[1].payload, version: 1)
            return (
                observation.hasFirstUnplayableAt ? observation.firstUnplayableAt.milliseconds : nil,
                observation.hasLastUnplayableAt ? observation.lastUnplayableAt.milliseconds : nil
            )
        }
        #expect(
            try times(#","first_unplayable_at":1398000000123,"last_unplayable_at":1398000000456"#)
                == (1_398_000_000_123, 1_398_000_000_456))
        for none in ["", #","first_unplayable_at":null"#, #","first_unplayable_at":0"#] {
            #expect(try times(none) == (nil, nil))
        }
    }

    @Test func timesAreReadFromIDsNotFromText() throws {
        let frame = ShelbyV1DocumentTests.frame(
            #""created_at":"Sep 5","creator_id":"u","creator":{"id":"u","nickname":"ann"},"#
                + #""upvoters":["4f00000000000000000000aa"],"conversation":{"id":"c","messages":["#
                + #"{"id":"4f0000010000000000000002","user_id":"u","text":"hi","created_at":"1m ago"}]}"#
        )
        let observations = try ShelbyV1DocumentTests.read(ShelbyV1DocumentTests.entry(frame))
            .observations
        let broadcast = try BroadcastReceived(payload: observations[0].payload, version: 1)
        #expect(broadcast.createdAt.seconds == 0x4f00_0000)
        #expect(broadcast.message == "shelby:4f0000010000000000000002")
        #expect(broadcast.sharer == "ann")
        #expect(broadcast.liked)
        let known = try FrameObserved(payload: observations[1].payload, version: 1)
        #expect(known.conversation == "c")
        #expect(known.liked && !known.hasLikedCopy)
        let comment = try CommentObserved(payload: observations[2].payload, version: 1)
        #expect(comment.comment == "shelby:4f0000010000000000000002")
        #expect(comment.createdAt.seconds == 0x4f00_0001)
    }

    @Test func onlyTheUnreadablePartsAreRefused() throws {
        let id = ShelbyV1DocumentTests.id
        let wordless = ShelbyV1DocumentTests.frame("", video: #"{"provider_name":""}"#)
        let rows = [
            "7", #"{"id":"short","frame":null}"#, #"{"action":0}"#,
            #"{"id":"4F0000000000000000000001","frame":null}"#,
            #"{"id":"\#(id)","action":31,"frame":\#(wordless)}"#,
            #"{"id":"\#(id)","action":31,"frame":\#(ShelbyV1DocumentTests.frame(""))}"#,
        ]
        let content = try ShelbyV1DocumentTests.read(
            #"{"status":200,"result":[\#(rows.joined(separator: ","))]}"#)
        #expect(content.refused.count == 5)
        #expect(content.observations.count == 3)
    }

    @Test func entriesAreListedOnTheStreamAndFramesOnRolls() throws {
        func lists(_ more: String) throws -> [String: String] {
            let frame = ShelbyV1DocumentTests.frame(#""creator":{"id":"x"}"# + more)
            let entry = #"{"id":"4f0000030000000000000009","action":0,"frame":\#(frame)}"#
            let content = try ShelbyV1DocumentTests.read(#"{"status":200,"result":[\#(entry)]}"#)
            let said = try content.observations.filter { $0.type == VideoListed.eventType }
                .map { try VideoListed(payload: $0.payload, version: 1) }
            return Dictionary(uniqueKeysWithValues: said.map { ($0.list, $0.entry) })
        }
        let entry = "4f0000030000000000000009"
        #expect(try lists("") == ["stream": entry])
        let id = ShelbyV1DocumentTests.id
        #expect(try lists(#","roll_id":"r1""#) == ["stream": entry, "roll/r1": id])
        #expect(try lists(#","roll":{"id":"r2"}"#) == ["stream": entry, "roll/r2": id])
    }

    @Test func savedListsAreReadLikeResponses() throws {
        let frame = ShelbyV1DocumentTests.frame(
            #""creator":{"id":"x","nickname":"ann"},"upvoters":["x"]"#)
        let dashboard = try IngestResource.named("shelby/dashboard")
        let entries = Array(ShelbyV1DocumentTests.entry(frame).utf8)
        func lists(_ result: IngestResult) throws -> [String] {
            try result.proposals.filter { $0.type == VideoListed.eventType }
                .map { try VideoListed(payload: $0.payload, version: 1).list }
        }
        #expect(try lists(dashboard.read(entries)) == ["stream"])
        #expect(try lists(dashboard.read(entries, list: "dashboard/c1")) == ["dashboard/c1"])
        #expect(throws: ModelError.self) { try dashboard.read(entries, list: "timeline") }
        let broadcast = try BroadcastReceived(
            payload: dashboard.read(entries).proposals[0].payload, version: 1)
        // Without a login, the user's likes are unknown.
        #expect(broadcast.sharer == "ann" && !broadcast.hasLiked)
        let roll = try IngestResource.named("shelby/roll")
        let frames =
            #"{"status":200,"result":{"id":"\#(ShelbyV1DocumentTests.id)","frames":[\#(frame)]}}"#
        #expect(
            try lists(roll.read(Array(frames.utf8))) == ["roll/\(ShelbyV1DocumentTests.id)"])
        // A roll or a channel's dashboard was not shared with the user.
        for result in try [
            roll.read(Array(frames.utf8)), dashboard.read(entries, list: "dashboard/c1"),
        ] {
            #expect(!result.proposals.contains { $0.type == BroadcastReceived.eventType })
        }
        let refused = try roll.read(Array(#"{"status":403,"message":"not yours"}"#.utf8)).refused
        #expect(refused.map(\.code) == [.remoteError])
        #expect(refused.first?.message.contains("not yours") == true)
    }

    /// A page is the last one, even if it is full, if all its rows are the row at which the
    /// previous page ended.
    @Test func pagingEndsIfItMakesNoProgress() throws {
        let rows = Array(
            repeating: #"{"id":"\#(ShelbyV1DocumentTests.id)","action":14,"frame":null}"#, count: 50
        ).joined(separator: ",")
        let response = RemoteResponse(
            status: 200, body: Array(#"{"status":200,"result":[\#(rows)]}"#.utf8))
        let connector = ShelbyV1Connector()
        let first = try connector.read(
            response, of: RemotePage("dashboard"), ShelbyV1DocumentTests.account)
        let next = try #require(first.next)
        #expect(next.place == ShelbyV1DocumentTests.id)
        let second = try connector.read(response, of: next, ShelbyV1DocumentTests.account)
        #expect(second.next == nil)
    }

    @Test func framesDoNotDependOnTheOrderOfArrival() throws {
        var script = Script()
        for (number, isLiked) in [true, false, true, false].enumerated() {
            var frame = FrameObserved()
            frame.frame = "frame-\(number % 2)"
            frame.video = "youtube:one"
            frame.liked = isLiked
            if number == 2 { frame.removed = true }
            script.add(
                try ProposedEvent(observation: frame, observedAt: Int64(number + 1)),
                at: Double(number))
        }
        var comment = CommentObserved()
        comment.comment = "shelby:4f0000010000000000000002"
        comment.video = "youtube:one"
        comment.text = "hi"
        script.add(try ProposedEvent(observation: comment, observedAt: 9), at: 9)
        try checkOrderDoesNotMatter(ShelbyFrames(), script.events)
        let known = try KnownFrames(
            Tag("video", "youtube:one"), FoldedReader(script.events, [ShelbyFrames()]))
        #expect(known.shared.map(\.id) == ["frame-1"])
        #expect(!known.isLiked)
        #expect(known.newestMessage == "4f0000010000000000000002")
    }
}
