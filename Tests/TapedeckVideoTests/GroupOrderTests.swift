import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import TestSupport
import Testing

/// The projections that group videos fold to the same bytes, whatever the order of events.
@Suite(.offTasks) struct GroupOrderTests {
    static let projections: [any Projection] = [
        VideoProjections.standard.videos, VideoProjections.standard.watchLater,
        VideoProjections.standard.lists, VideoProjections.standard.shares,
    ]

    /// Returns a history over few keys, so that many events share a key.
    static func history(_ count: Int, seed: UInt64) throws -> [RecordedEvent] {
        var generator = SeededGenerator(seed: seed)
        var script = Script()
        for _ in 0..<count { try addAny(to: &script, using: &generator) }
        return script.events
    }

    private static func addAny(
        to script: inout Script, using generator: inout SeededGenerator
    ) throws {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let origin = UInt64(number(3) + 1)
        let second = Double(number(60))
        let video = "youtube:v\(number(3))"
        let seen = number(4) == 0 ? nil : Double(number(60))
        switch number(6) {
        case 0:
            var like = LikeToggled()
            (like.video, like.isOn) = (video, number(2) == 0)
            try script.add(like, at: second, origin: origin)
        case 1:
            // The outcome of any event, which may be about another video.
            guard let intent = script.events.randomElement(using: &generator) else { return }
            try script.outcome(
                of: intent.id, video, kind: number(4) == 0 ? 3 : 2, at: second, origin: origin)
        case 2:
            var said = BroadcastReceived()
            (said.broadcast, said.video) = ("b\(number(4))", video)
            if number(3) > 0 {
                said.createdAt = .init(milliseconds: Script.time(Double(number(9))))
            }
            if number(3) > 0 { said.liked = number(2) == 0 }
            if number(3) > 0 { said.watchLater = number(2) == 0 }
            if number(4) == 0 { said.removed = true }
            try script.observe(said, at: seen, origin: origin)
        case 3:
            var share = VideoShared()
            (share.video, share.destinations) = (video, ["tumblr"])
            try script.add(share, at: second, origin: origin)
        default:
            var said = VideoListed()
            said.list = ["stream", "roll/1", "roll/12"][number(3)]
            (said.entry, said.video) = ("e\(number(4))", video)
            if number(4) > 0 {
                said.listedAt = .init(milliseconds: Script.time(Double(number(9))))
            }
            if number(3) == 0 { said.removed = number(2) == 0 }
            try script.observe(said, at: seen, origin: origin)
        }
    }

    @Test(arguments: projections.indices)
    func anyOrderGivesTheSameBytes(_ index: Int) throws {
        try checkOrderDoesNotMatter(
            Self.projections[index], Self.history(600, seed: runSeed), rounds: 6)
    }

    @Test(arguments: projections.indices)
    func smallHistoriesGiveTheSameBytesInAnyOrder(_ index: Int) throws {
        for seed in 0..<Soak.count(10, soak: 80) {
            let events = try Self.history(9, seed: runSeed &+ UInt64(seed) &* 1_000)
            try checkOrderDoesNotMatter(Self.projections[index], events, rounds: 5)
        }
    }

    /// A broadcast that the remote has removed no longer affects the position of its video.
    @Test func listsOfSharedVideosHaveTheOrderOfTheTimeline() throws {
        for seed in 0..<Soak.count(40, soak: 400) {
            let events = try Self.history(60, seed: runSeed &+ UInt64(seed) &* 1_000)
            let views = try queries(events)
            func keys(_ group: VideoGroup) throws -> [String] {
                try views.videos(in: group, at: UTCTime(milliseconds: Script.time(0))).videos
                    .map(\.key)
            }
            let timeline = try keys(.timeline)
            for group in [VideoGroup.favourites, .watchLater] {
                let listed = try keys(group)
                #expect(
                    listed.filter(timeline.contains) == timeline.filter(listed.contains),
                    "\(group.name): TAPEDECK_SEED=\(runSeed), round \(seed)")
            }
        }
    }
}
