import Tapedeck
import TapedeckModel
import Testing

/// SH8: The tables of the app: timeline, favourites and watch later, in the same order.
struct SH8Tests {
    private let stage: GroupStage

    init() throws { stage = try GroupStage("tables") }

    @Test func allTablesShareTheOrderOfTheTimeline() async throws {
        try await stage.share("b1", "a", at: 1, liked: true, watchLater: true)
        try await stage.share("b2", "b", at: 2, liked: true, watchLater: true)
        try await stage.share("b3", "c", at: 3)
        try await stage.share("b4", "a", at: 4, liked: false, watchLater: false)
        #expect(try await stage.ids("timeline") == ["a", "c", "b"])
        // A video is listed if any of its broadcasts is liked or marked; the position of the video
        // in the list follows from its newest broadcast.
        #expect(try await stage.ids("favourites") == ["a", "b"])
        #expect(try await stage.ids("watch-later") == ["a", "b"])
    }

    @Test func removedBroadcastNoLongerAffectsThePositionOfItsVideo() async throws {
        try await stage.share("b1", "a", at: 1, liked: true, watchLater: true)
        try await stage.share("b2", "b", at: 2, liked: true, watchLater: true)
        try await stage.share("b3", "a", at: 3)
        let groups = ["timeline", "favourites", "watch-later"]
        for group in groups { #expect(try await stage.ids(group) == ["a", "b"], "\(group)") }
        try await stage.remove("b3", "a")
        for group in groups { #expect(try await stage.ids(group) == ["b", "a"], "\(group)") }
    }

    @Test func playableOnlyShowsVideosKnownToBePlayable() async throws {
        for (number, video) in ["a", "b", "c"].enumerated() {
            try await stage.share("b\(number)", video, at: Int64(number), liked: true)
        }
        var check = PlayabilityChecked()
        check.video = "youtube:a"
        check.outcome = "playable"
        try await stage.store.append([check])
        check.video = "youtube:c"
        check.outcome = "unplayable"
        check.reason = "live"
        try await stage.store.append([check])
        #expect(try await stage.ids("timeline", playable: true) == ["a"])
        #expect(try await stage.ids("favourites", playable: true) == ["a"])
        let states = try await stage.page("timeline").videos.map(\.playability)
        #expect(states == [.unplayable, .unknown, .playable])
    }

    @Test func likesApplyAtOnceNewestFirst() async throws {
        try await stage.share("b1", "a", at: 1, liked: false)
        try await stage.share("b2", "b", at: 2, liked: true)
        #expect(try await stage.ids("favourites") == ["b"])
        try await stage.like("a")
        #expect(try await stage.ids("favourites") == ["b", "a"])
        #expect(try await stage.ids("likes") == ["a", "b"])
        stage.wait(1)
        try await stage.like("b", false)
        #expect(try await stage.ids("favourites") == ["a"])
        // A video without a broadcast can be liked too.
        try await stage.like("alone")
        #expect(try await stage.ids("likes") == ["alone", "a"])
        #expect(try await stage.ids("timeline") == ["b", "a"])
    }

    @Test func remotesCanUndoConfirmedLikes() async throws {
        try await stage.share("b1", "a", at: 1, liked: false, seenAt: stage.now)
        stage.wait(1)
        let like = try await stage.like("a")
        stage.wait(1)
        // The like is not delivered yet, so it overrides the remote's state.
        try await stage.share("b1", "a", at: 1, liked: false, seenAt: stage.now)
        #expect(try await stage.ids("likes") == ["a"])
        stage.wait(1)
        try await stage.confirm(like, of: "a")
        #expect(try await stage.ids("likes") == ["a"])
        stage.wait(1)
        try await stage.share("b1", "a", at: 1, liked: true, seenAt: stage.now)
        #expect(try await stage.ids("likes") == ["a"])
        stage.wait(1)
        try await stage.share("b1", "a", at: 1, liked: false, seenAt: stage.now)
        #expect(try await stage.ids("likes").isEmpty)
    }
}

extension GroupStage {
    /// Records that a remote confirmed an intent on a video.
    func confirm(_ intent: EventID, of video: String) async throws {
        let outcome = OutcomeRecorded.with {
            ($0.system, $0.intent, $0.kind) = ("shelby", intent.description, .confirmed)
        }
        var confirmation = try ProposedEvent(outcome)
        confirmation.tags = [try VideoKey("youtube:\(video)").tag]
        try await store.log.append([confirmation])
    }
}
