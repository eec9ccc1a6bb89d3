import TapedeckProjections
import TapedeckVideo
import TestSupport
import Testing

/// Compacting playback reports does not change any list, even if the clock stops or the time played
/// is unknown.
@Suite(.offTasks) struct PlaybackCompactionTests {
    /// A player that occasionally seeks, is closed, or is on a device whose clock stops.
    private struct Player {
        var generator: SeededGenerator
        var second = 0.0
        private var viewing = 0
        private var position = 0.0
        private var played = 0.0
        private var hasStoppedClock = false

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        mutating func report() -> PlaybackProgressed {
            if !hasStoppedClock { second += 1 }
            switch Int.random(in: 0..<120, using: &generator) {
            case 0:
                viewing += 1
                (position, played) = (0, 0)
            case 1: (position, played) = (.random(in: 0...1_000, using: &generator), 0)
            case 2: hasStoppedClock.toggle()
            default:
                position += 1
                played += 1
            }
            return PlaybackProgressed.with {
                ($0.video, $0.viewing) = ("vimeo:1", "v\(viewing)")
                ($0.positionSeconds, $0.durationSeconds) = (position, 1_000)
                if viewing.isMultiple(of: 2) { $0.playedSeconds = played }
            }
        }
    }

    @Test(arguments: 0..<UInt64(Soak.count(4, soak: 40)))
    func remainingReportsGiveTheSameLists(_ round: UInt64) throws {
        var player = Player(seed: runSeed &+ round)
        var script = Script()
        var recorded: [PlaybackCompaction.Recorded] = []
        for _ in 0..<3_000 {
            let report = player.report()
            try script.add(report, at: player.second)
            let at = UInt64(Script.time(player.second))
            recorded.append(.init(.init(report, atMilliseconds: at), isFixed: false))
        }
        let superseded = PlaybackCompaction.superseded(recorded)
        let few = zip(script.events, superseded).filter { !$1 }.map(\.0)
        #expect(few.count * 4 < script.events.count, "\(few.count), TAPEDECK_SEED=\(runSeed)")
        let projections: [any Projection] = [PlayStatistics(), Playback(), WatchLater()]
        for projection in projections {
            let (whole, part) = (
                try folded(projection, script.events).snapshot, try folded(projection, few).snapshot
            )
            #expect(part == whole, "\(projection.name), round \(round), TAPEDECK_SEED=\(runSeed)")
        }
    }
}
