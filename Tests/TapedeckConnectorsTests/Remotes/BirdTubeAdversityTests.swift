import Foundation
import Tapedeck
import TapedeckConnectors
import TapedeckSync
import TapedeckTesting
import TestSupport
import Testing

/// BirdTube intents are neither lost nor repeated, despite interrupted requests, crashes and other
/// faults.
///
/// The exception is a view whose outcome is unknown: it may be lost, but is never sent again.
@Suite(.offTasks) struct BirdTubeAdversityTests {
    private static let wanted = [
        "comment videovideo1 same", "comment videovideo1 same", "comment videovideo2 other",
        "submission brandnew001 Mine", "submission brandnew002 Mine",
    ]
    private static let views = ["view videovideo1 ", "view videovideo3 "]

    private static func wantAll(_ desk: BirdTubeDesk) throws {
        try desk.submit("youtube:brandnew001")
        try desk.say("same")
        try desk.say("same")
        try desk.say("other", beside: BirdTubeDesk.key(2))
        try desk.open(viewing: "1")
        try desk.open(viewing: "2")
        try desk.open(BirdTubeDesk.key(3), viewing: "3")
        try desk.submit("youtube:brandnew002")
    }

    /// Checks that all intents took effect once, except for views whose outcome is unknown.
    private static func check(_ desk: BirdTubeDesk, _ comment: String) throws {
        let own = desk.effects
        #expect(own.filter { !$0.hasPrefix("view") } == wanted, "\(comment)")
        let left = try desk.device.outbox()
        #expect(left.allSatisfy { $0.event.type == VideoOpened.eventType }, "\(comment)")
        let told = own.filter { $0.hasPrefix("view") }
        #expect(Set(told).count == told.count, "\(comment): a view was sent twice")
        #expect(Set(told).isSubset(of: views) && told.count + left.count >= 2, "\(comment)")
        #expect(desk.world.simulator.violations.isEmpty, "\(comment)")
    }

    static let paths = [
        "/signin", "/video/list", "/video/register", "/video/view", "/channel/messages",
        "/channel/send",
    ]

    @Test(arguments: paths, [true, false])
    func interruptedRequestsAreRecovered(path: String, isAfter: Bool) throws {
        let desk = try BirdTubeDesk()
        let shears = Shears(desk.world, isAfter: isAfter) { $0.path == path }
        try Self.wantAll(desk)
        try desk.settle()
        #expect(shears.cuts == 1)
        try Self.check(desk, path)
        #expect(try desk.texts() == ["nice", "same", "same"])
    }

    @Test(arguments: Soak.sample(Array(1...25), 5))
    func crashesNeitherLoseNorRepeatAnything(number: Int) throws {
        for point in [CrashPoint.before(number), .after(number)] {
            let desk = try BirdTubeDesk()
            try Self.wantAll(desk)
            try desk.device.sync(crashing: point)
            try desk.settle()
            try Self.check(desk, "\(point)")
            #expect(try desk.texts() == ["nice", "same", "same"], "\(point)")
        }
    }

    @Test func nothingIsLostOrRepeatedUnderHarshConditions() throws {
        let first = runSeed
        for seed in first..<first + UInt64(Soak.count(4, soak: 200)) {
            let desk = try BirdTubeDesk(.harsh, seed: seed)
            try Self.wantAll(desk)
            try desk.settle(40)
            try Self.check(desk, "TAPEDECK_SEED=\(seed)")
            // Once the faults end, the device reads everything that it has missed.
            desk.world.simulator.adversary = .none
            for _ in 0..<2 {
                desk.world.clock.advance(by: .seconds(60))
                try desk.device.sync()
            }
            let world = try desk.birdTube.world
            try desk.device.query { queries in
                let shown = try queries.submissions(limit: 500).videos
                #expect(
                    Set(shown.map(\.key)) == Set(world.videos.map { "youtube:\($0.id)" }),
                    "TAPEDECK_SEED=\(seed)")
                for video in world.videos {
                    let entry = shown.first { $0.key == "youtube:\(video.id)" }
                    // If the request that reports a view was lost, the view still counts as one of
                    // the user's own views until the view count in the list rises.
                    let own = entry?.ownViews ?? 0
                    #expect(
                        (entry?.views ?? 0) - own == video.viewer && own <= 1,
                        "TAPEDECK_SEED=\(seed): \(video.id)")
                    let said = world.messages.filter { $0.channel == video.channel }
                    let ids = try queries.chat(
                        video: "youtube:\(video.id)", isWithBlocked: true, isGuestAllowed: true,
                        limit: 500
                    ).messages.map(\.id)
                    #expect(
                        Set(ids) == Set(said.map { String($0.id) }) && ids.count == said.count,
                        "TAPEDECK_SEED=\(seed): \(video.id)")
                }
            }
        }
    }
}
