import TapedeckTesting
import Testing

/// The bridge to BirdTube's chats.
struct BirdTubeChatTests {
    @Test func pagesDoNotSplitMessagesOfEqualTime() throws {
        var guest = Caller.birdTube()
        let channel = guest.simulator.world.videos[0].channel
        var (pages, time) = ([[Int]](), Int64.max)
        var shown: [[String: Any]]
        repeat {
            shown = try guest.messages(channel, "previous", from: time)
            pages.append(shown.numbers("id"))
            time = Int64(shown.numbers("timestamp").min() ?? 0)
        } while shown.count >= 50
        let ids = Array(pages.joined())
        #expect(ids.count == 180 && Set(ids).count == 180 && ids == ids.sorted(by: >))
        #expect(pages.contains { $0.count > 50 })
        let first = try guest.messages(channel, "next", from: 0, limit: 10)
        #expect(first.count >= 70 && first.numbers("id").first == 1)
        #expect(Set(first.numbers("timestamp")).count == 1)
        #expect(guest.simulator.violations.isEmpty)
    }

    @Test func everySendAddsAMessageWithItsTemporaryID() throws {
        var ada = Caller.birdTube()
        let (video, session) = (ada.simulator.world.videos[1], try ada.session())
        let members = [
            "session": session, "channel_url": video.channel, "temp_id": "mine", "text": "hello",
        ]
        for _ in 0..<2 {
            let answer = try ada.post("/channel/send", members)
            let message = try #require(answer["message"] as? [String: Any])
            #expect(message["tempId"] as? String == "mine" && message["text"] as? String == "hello")
        }
        #expect(ada.simulator.effects.map(\.text) == ["hello", "hello"])
        #expect(ada.simulator.effects.allSatisfy { $0.entity == video.id && $0.kind == .comment })
        let shown = try ada.messages(video.channel, "previous", from: .max)
        #expect(shown.texts("tempId").count { $0 == "mine" } == 2)
    }

    @Test func filesAreSentByURL() throws {
        var ada = Caller.birdTube()
        let (video, session) = (ada.simulator.world.videos[1], try ada.session())
        let file: [String: Any] = ["url": "http://a/b.png", "name": "b", "type": "c", "size": 3]
        let answer = try ada.post(
            "/channel/send",
            ["session": session, "channel_url": video.channel, "temp_id": "f", "file": file])
        let message = try #require(answer["message"] as? [String: Any])
        #expect(message["type"] as? String == "file")
        #expect((message["file"] as? [String: Any])?["size"] as? Int == 3)
    }

    @Test func unknownUsersMayReadButNotSend() throws {
        var guest = Caller.birdTube()
        let video = guest.simulator.world.videos[0]
        let members = [
            "session": "no", "channel_url": video.channel, "temp_id": "a", "text": "b",
        ]
        #expect(try guest.answer("/channel/send", members).response?.status == 401)
        #expect(guest.simulator.effects.isEmpty)
        #expect(
            try guest.post(
                "/channel/messages",
                ["channel_url": "no", "timestamp": 1, "limit": 1, "direction": "next"]
            ).message == "Channel not found.")
    }

    @Test func serverWithoutBridgeHasNoChatRoutes() throws {
        var guest = Caller.birdTube()
        guest.simulator.hasBridge = false
        for path in ["/channel/messages", "/channel/send"] {
            #expect(try guest.answer(path, [:]).response?.status == 404)
        }
        #expect(guest.simulator.violations.isEmpty)
    }
}
