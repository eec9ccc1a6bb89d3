import TapedeckTesting
import Testing

/// Spontaneous changes to TVmaze's schedules, and failed requests.
struct TVmazeAdversaryTests {
    private func run(_ seed: UInt64) -> [SimulatedAnswer] {
        var caller = Caller(TVmazeSimulator(seed: seed, at: Moments.start, adversary: .harsh))
        return (0..<200).map { number in
            switch number % 3 {
            case 0: caller.answer("GET", "/schedule?country=US&date=2012-06-0\(1 + number % 7)")
            case 1: caller.answer("GET", "/schedule/web?date=2012-06-0\(1 + number % 7)")
            default: caller.answer("GET", "/shows/\(1 + number % 24)/cast")
            }
        }
    }

    @Test func theSameSeedGivesTheSameAnswers() {
        let answers = run(5)
        let isRepeated = answers == run(5)
        let isAnother = answers != run(6)
        #expect(isRepeated && isAnother)
        let statuses = Set(answers.map { $0.response?.status ?? 0 })
        #expect(statuses.isSuperset(of: [0, 200, 500]))
    }

    @Test func everyScheduleChangeUpdatesItsShow() {
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = 60_000
        adversary.deletionRate = 0.2
        var caller = Caller(TVmazeSimulator(seed: 3, at: Moments.start, adversary: adversary))
        caller.simulator.advance(to: caller.now)
        let before = caller.simulator.world
        caller.simulator.advance(to: caller.now + 6 * Moments.hour)
        let after = caller.simulator.world
        let gone = Set(before.episodes.keys).subtracting(after.episodes.keys)
        let added = Set(after.episodes.keys).subtracting(before.episodes.keys)
        let moved = before.episodes.values.filter {
            after.episodes[$0.id].map(\.startsAt) ?? $0.startsAt != $0.startsAt
        }
        #expect(!gone.isEmpty && !added.isEmpty && !moved.isEmpty)
        #expect(after.casts != before.casts)
        for (id, episode) in before.episodes where after.episodes[id] != episode {
            let show = episode.show
            let isMarked = after.shows[show]?.updated ?? 0 > before.shows[show]?.updated ?? .max
            #expect(isMarked, "episode \(id)")
        }
        #expect(caller.simulator.effects.isEmpty)
    }
}
