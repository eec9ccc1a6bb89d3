import TapedeckTesting
import Testing

/// Changes by other users of Whale, and faults in pages.
struct WhaleAdversaryTests {
    private func run(_ seed: UInt64) -> [SimulatedAnswer] {
        var ada = Caller.whale(seed: seed, .harsh)
        return (0..<200).map { number in
            switch number % 4 {
            case 0: return ada.answer("GET", "/api/v1/answers?page=\(number % 3)")
            case 1: return ada.answer("GET", "/api/v1/questions")
            case 2:
                return ada.answer(
                    "POST", "/api/v1/answers/1/comments", form: ["comment": "\(number)"])
            default: return ada.answer("GET", "/api/v1/answers/1/comments")
            }
        }
    }

    @Test func theSameSeedGivesTheSameAnswers() {
        let answers = run(5)
        let isRepeated = answers == run(5)
        let isAnother = answers != run(6)
        #expect(isRepeated && isAnother)
    }

    @Test func pagesMayRepeatRows() throws {
        var adversary = SimulatorAdversary()
        adversary.duplicateRate = 1
        var ada = Caller.whale(adversary)
        let last = try ada.page("answers").numbers("id").last
        #expect(try ada.page("answers?page=1").numbers("id").first == last)
    }

    @Test func rowsWithEqualDatesMayBeMissedAndRepeated() throws {
        var adversary = SimulatorAdversary()
        adversary.shufflesTies = true
        var ada = Caller.whale(adversary)
        for index in ada.simulator.world.answers.indices {
            ada.simulator.world.answers[index].insertedAt = Moments.start
        }
        var ids: [Int] = []
        for page in 0..<3 { ids += try ada.page("answers?page=\(page)").numbers("id") }
        #expect(ids.count == 45 && Set(ids).count < 45)
    }

    @Test func otherUsersKeepChangingTheWorld() throws {
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = 60_000
        var ada = Caller.whale(adversary)
        ada.simulator.advance(to: ada.now)
        let before = ada.simulator.world
        ada.simulator.advance(to: ada.now + Moments.day)
        let after = ada.simulator.world
        #expect(after.questions.count > before.questions.count)
        #expect(after.answers.count > before.answers.count)
        #expect(after.comments.count > before.comments.count)
        #expect(after.likes.count > before.likes.count)
        let asked = { (world: WhaleWorld) in world.questions.count { $0.receiver == 1 } }
        #expect(asked(after) > asked(before))
        #expect(ada.simulator.effects.isEmpty)
    }

    @Test func uploadsTakeVaryingTimes() throws {
        var adversary = SimulatorAdversary()
        adversary.uploadDelayMillisecondsMax = 60_000
        var ada = Caller.whale(adversary)
        let open = ada.open(to: 1)
        let starts = try open.map { question in
            _ = try ada.upload(question: question)
            return ada.now
        }
        ada.simulator.advance(to: ada.now + Moments.hour)
        let ends = ada.simulator.effects.map(\.atMilliseconds)
        #expect(ends.count == open.count && ends == ends.sorted())
        #expect(Set(zip(ends, starts).map { $0 - $1 }).count > 1)
    }
}
