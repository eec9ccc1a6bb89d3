import TapedeckTesting
import Testing

/// Other writes to v1.
struct ShelbyV1WriteTests {
    @Test func viewIsCountedOncePerDayAndCompletionEveryTime() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        let video = try #require(frame.video.flatMap { app.simulator.world.videos[$0] })
        func watch(_ form: KeyValuePairs<String, String>) throws {
            _ = try app.result("POST", "frame/\(frame.id)/watched", form: form)
        }
        try watch(["start_time": "0", "end_time": "15"])
        try watch(["start_time": "15", "end_time": "30.5"])
        try watch(["start_time": "30.5", "end_time": "40", "complete": "1"])
        try watch(["complete": "1"])
        app.now += Moments.day
        try watch(["complete": "1"])
        #expect(try app.frame(frame.id)["view_count"] as? Int == frame.viewCount + 1)
        let after = try #require(app.simulator.world.videos[video.id])
        #expect(after.completeCount == video.completeCount + 3)
        let details = app.simulator.effects.map(\.detail)
        #expect(details == ["view", "", "complete", "complete", "complete"])
    }

    @Test func viewsNeedBothTimes() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        for form: KeyValuePairs in [
            ["start_time": "0"], ["end_time": "15"], [:], ["start_time": "0", "complete": "1"],
        ] {
            _ = try app.result("POST", "frame/\(frame.id)/watched", form: form)
        }
        #expect(try app.frame(frame.id)["view_count"] as? Int == frame.viewCount)
        #expect(app.simulator.effects.map(\.detail) == ["", "", "", "complete"])
    }

    @Test func visitsAreCountedForEachPlatform() throws {
        var app = Caller.shelbyV1()
        let ada = try app.ada
        for query in ["", "platform=ios", "platform=ios"] {
            _ = try app.result("PUT", "user/\(ada.id)/visit", query)
        }
        #expect(app.simulator.world.users[ada.id]?.visits == ["web": 1, "ios": 2])
        let other = try #require(app.simulator.world.users.keys.first { $0 != ada.id })
        for path in [
            app.path("user/\(ada.id)/visit", "platform=tv"), app.path("user/\(other)/visit"),
        ] {
            #expect(try app.call("PUT", path).status == 404)
        }
        #expect(try app.call("PUT", "/v1/user/\(ada.id)/visit").status == 401)
        #expect(app.simulator.effects.map(\.text) == ["web", "ios", "ios"])
    }

    @Test func newMessageReturnsTheWholeConversation() throws {
        var app = Caller.shelbyV1()
        let id = try #require(try app.wholeFrame().conversation)
        let before = app.simulator.world.conversations[id]?.messages.count ?? 0
        for count in 1...2 {
            let whole = try #require(
                try app.result("POST", "conversation/\(id)/messages", form: ["text": "Ahoy"])
                    as? [String: Any])
            #expect(whole["id"] as? String == id)
            let messages = try #require(whole["messages"] as? [[String: Any]])
            #expect(messages.count == before + count)
            #expect(messages.texts("text").last == "Ahoy")
        }
        let own = try #require(app.simulator.world.conversations[id]?.messages.last?.id)
        let left = try #require(
            try app.result("DELETE", "conversation/\(id)/messages/\(own)") as? [String: Any])
        #expect((left["messages"] as? [Any])?.count == before + 1)
        #expect(
            app.simulator.effects.map(\.kind) == [.comment, .comment, .commentDeleted])
    }

    @Test func copiesShareTheConversation() throws {
        var app = Caller.shelbyV1()
        let (ada, frame) = (try app.ada, try app.wholeFrame())
        let copy = try #require(
            try app.result(
                "POST", "roll/\(ada.publicRoll)/frames",
                form: ["frame_id": frame.id, "text": "Mine, too"]) as? [String: Any])
        #expect(copy["frame_type"] as? Int == 0)
        #expect(copy["conversation_id"] as? String == frame.conversation)
        let messages = try app.frame(frame.id)["conversation"] as? [String: Any]
        #expect((messages?["messages"] as? [[String: Any]])?.texts("text").last == "Mine, too")
    }

    @Test func urlsOfOneVideoLeadToOneRow() throws {
        var app = Caller.shelbyV1()
        let roll = try app.ada.publicRoll
        var videos: Set<String> = []
        for url in ["https://youtu.be/BmzSEYNTkHA", "http://youtube.com/watch?v=BmzSEYNTkHA&t=1"] {
            let frame = try app.result("POST", "roll/\(roll)/frames", form: ["url": url])
            videos.insert(try #require((frame as? [String: Any])?["video_id"] as? String))
        }
        #expect(videos.count == 1)
    }

    @Test func firstUnplayableTimeIsKept() throws {
        var app = Caller.shelbyV1()
        let id = try #require(try app.wholeFrame().video)
        var seen: [(first: Int?, last: Int?)] = []
        for _ in 0..<2 {
            let video = try app.result("PUT", "video/\(id)/unplayable") as? [String: Any]
            seen.append(
                (video?["first_unplayable_at"] as? Int, video?["last_unplayable_at"] as? Int))
        }
        #expect(seen[0].first == seen[0].last && seen[0].first == seen[1].first)
        #expect(seen[1].last == (seen[0].last ?? 0) + 1_000)
    }

    @Test func sharesVisitsAndRollChangesAreRecorded() throws {
        var app = Caller.shelbyV1()
        let (ada, frame) = (try app.ada, try app.wholeFrame())
        let roll = try #require(frame.roll)
        _ = try app.result(
            "POST", "frame/\(frame.id)/share", form: ["destination[]": "twitter", "text": "Look"])
        _ = try app.result("POST", "roll/\(roll)/leave")
        let following = try app.result("GET", "user/\(ada.id)/rolls/following")
        #expect((following as? [[String: Any]])?.texts("id").contains(roll) == false)
        _ = try app.result("POST", "roll/\(roll)/join")
        _ = try app.result("PUT", "user/\(ada.id)/visit")
        #expect(app.simulator.effects.map(\.kind) == [.share, .left, .joined, .visit])
        _ = try app.result("GET", "roll/featured", "segment=all")
        _ = try app.result("GET", "frame/\(frame.id)/short_link")
        _ = try app.result("GET", "video/\(frame.video ?? "")/likers")
        _ = try app.result("GET", "video/\(frame.video ?? "")/conversations")
        #expect(app.simulator.violations.isEmpty)
    }
}
