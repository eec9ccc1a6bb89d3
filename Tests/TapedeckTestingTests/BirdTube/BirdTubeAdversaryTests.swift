import TapedeckTesting
import Testing

/// Changes by other users of BirdTube, and failures of requests.
struct BirdTubeAdversaryTests {
    private func run(_ seed: UInt64) throws -> [SimulatedAnswer] {
        var guest = Caller.birdTube(seed: seed, .harsh)
        let id = guest.simulator.world.videos[0].id
        return try (0..<200).map { number in
            number.isMultiple(of: 2)
                ? try guest.answer(
                    "/video/list", ["offset": number, "limit": 9, "order_by": number % 3])
                : try guest.answer("/video/view", ["video_id": id])
        }
    }

    @Test func theSameSeedGivesTheSameAnswers() throws {
        let answers = try run(5)
        let isRepeated = try answers == run(5)
        let isAnother = try answers != run(6)
        #expect(isRepeated && isAnother)
        let statuses = Set(answers.map { $0.response?.status ?? 0 })
        #expect(statuses.isSuperset(of: [0, 200, 500]))
    }

    @Test func requestWithAnEffectMayEndInACutOr500() throws {
        for field in [\SimulatorAdversary.cutAfterRate, \.serverErrorAfterRate] {
            var adversary = SimulatorAdversary()
            adversary[keyPath: field] = 1
            var guest = Caller.birdTube(adversary)
            let id = guest.simulator.world.videos[0].id
            let answer = try guest.answer("/video/view", ["video_id": id])
            #expect(answer.response.map(\.status) ?? 500 == 500)
            #expect(guest.simulator.effects.map(\.kind) == [.view])
        }
    }

    @Test func pagesRepeatRowsAndShuffleRowsOfEqualTime() throws {
        var adversary = SimulatorAdversary()
        adversary.duplicateRate = 1
        var guest = Caller.birdTube(adversary)
        let last = try guest.list(0, order: 2).texts("video_id").last
        #expect(try guest.list(20, order: 2).texts("video_id").first == last)
        adversary = SimulatorAdversary()
        adversary.shufflesTies = true
        guest = Caller.birdTube(adversary)
        for index in guest.simulator.world.videos.indices {
            guest.simulator.world.videos[index].createdAt = Moments.start
        }
        var ids: [String] = []
        for page in 0..<4 { ids += try guest.list(page * 20, order: 2).texts("video_id") }
        #expect(ids.count == 64 && Set(ids).count < 64)
    }

    @Test func otherUsersKeepChangingTheWorld() throws {
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = 60_000
        adversary.deletionRate = 0.2
        var guest = Caller.birdTube(adversary)
        guest.simulator.advance(to: guest.now)
        let before = guest.simulator.world
        guest.simulator.advance(to: guest.now + Moments.day)
        let after = guest.simulator.world
        #expect(after.videos.count > before.videos.count)
        #expect(after.videos.map(\.viewer).reduce(0, +) > before.videos.map(\.viewer).reduce(0, +))
        #expect(after.messages.count > before.messages.count)
        #expect(after.messages.contains { $0.isBlocked })
        // Times in chats never decrease.
        for video in after.videos {
            let times = after.messages.filter { $0.channel == video.channel }.map(\.at)
            #expect(times == times.sorted())
        }
        #expect(guest.simulator.effects.isEmpty)
        var other = Caller.birdTube(adversary)
        other.simulator.advance(to: guest.now)
        _ = try other.list(0, order: 1)
        other.simulator.advance(to: guest.now + Moments.day)
        #expect(other.simulator.world == after, "the world must not depend on requests")
    }
}
