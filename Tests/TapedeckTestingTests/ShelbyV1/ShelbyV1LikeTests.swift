import TapedeckTesting
import Testing

/// Likes in v1, which are counted and copied to a roll.
struct ShelbyV1LikeTests {
    @Test func likeIsCountedAndCopiedToTheUsersOwnRoll() throws {
        var app = Caller.shelbyV1()
        let (ada, frame) = (try app.ada, try app.wholeFrame())
        _ = try app.result("PUT", "frame/\(frame.id)/like")
        let liked = try app.frame(frame.id)
        #expect(liked["like_count"] as? Int == frame.likeCount + 1)
        #expect((liked["upvoters"] as? [String])?.contains(ada.id) == true)
        let copy = try #require(try app.frames(onRoll: ada.publicRoll).first)
        #expect(copy["frame_type"] as? Int == 1)
        #expect(copy["video_id"] as? String == frame.video)
        #expect(copy["conversation_id"] as? String == frame.conversation)
        let effect = try #require(app.simulator.effects.last)
        #expect(effect.kind == .like && effect.entity == frame.id && effect.account == ada.id)
        #expect(effect.detail == copy["id"] as? String)
    }

    @Test func repeatedLikeIsCountedAgainWithoutRepeatingTheUpvoter() throws {
        var app = Caller.shelbyV1()
        let (ada, frame) = (try app.ada, try app.wholeFrame())
        for _ in 0..<3 { _ = try app.result("PUT", "frame/\(frame.id)/like") }
        let liked = try app.frame(frame.id)
        #expect(liked["like_count"] as? Int == frame.likeCount + 3)
        #expect((liked["upvoters"] as? [String])?.filter { $0 == ada.id }.count == 1)
        #expect(try app.frames(onRoll: ada.publicRoll).count == 3)
    }

    @Test func olderWatchLaterCallAlsoLikesTheFrame() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        _ = try app.result("POST", "frame/\(frame.id)/add_to_watch_later")
        #expect(app.simulator.effects.map(\.kind) == [.like])
    }

    @Test func likeByAnUnknownUserIsOnlyCounted() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        let frames = app.simulator.world.frames.count
        #expect(try app.call("PUT", "/v1/frame/\(frame.id)/like").status == 200)
        let liked = try #require(app.simulator.world.frames[frame.id])
        #expect(liked.likeCount == frame.likeCount + 1 && liked.upvoters == frame.upvoters)
        #expect(app.simulator.world.frames.count == frames)
    }

    @Test func unlikeRemovesTheCopyFromItsRoll() throws {
        var app = Caller.shelbyV1()
        let (ada, frame) = (try app.ada, try app.wholeFrame())
        _ = try app.result("PUT", "frame/\(frame.id)/like")
        let copy = try #require(try app.frames(onRoll: ada.publicRoll).texts("id").first)
        _ = try app.result("DELETE", "frame/\(copy)")
        #expect(try app.frames(onRoll: ada.publicRoll).isEmpty)
        let left = try #require(app.simulator.world.frames[frame.id])
        #expect(left.likeCount == frame.likeCount && !left.upvoters.contains(ada.id))
        let gone = try #require(app.simulator.world.frames[copy])
        #expect(gone.roll == nil && gone.deletedFromRoll == ada.publicRoll)
        #expect(try app.call("DELETE", app.path("frame/\(copy)")).status == 404)
        #expect(app.simulator.effects.map(\.kind) == [.like, .unlike])
    }

    @Test func framesOfOthersCannotBeRemoved() throws {
        var app = Caller.shelbyV1()
        let frame = try app.wholeFrame()
        #expect(try app.call("DELETE", app.path("frame/\(frame.id)")).status == 404)
        #expect(app.simulator.effects.isEmpty)
    }
}
