import TapedeckTesting
import Testing

/// The seed determines the faults that an adversary injects.
struct AdversaryTests {
    private func run(_ seed: UInt64, _ adversary: SimulatorAdversary) -> [SimulatedAnswer] {
        var ada = Caller.shelby(seed: seed, adversary)
        return (0..<200).map { number in
            guard number % 3 > 0, let row = ada.simulator.world.broadcasts.first else {
                return ada.answer("GET", "/v2/channels/\(ada.channel())/broadcasts.json")
            }
            return ada.answer(
                "PUT", "/v2/broadcasts/\(row.id).json", form: ["owner_watch_later": "true"])
        }
    }

    @Test func theSameSeedGivesTheSameAnswers() {
        let answers = run(7, .harsh)
        let isRepeated = answers == run(7, .harsh)
        let isAnother = answers != run(8, .harsh)
        #expect(isRepeated && isAnother)
        let statuses = Set(answers.map { answer in answer.response.map(\.status) ?? 0 })
        #expect(statuses.isSuperset(of: [0, 200, 500]))
    }

    @Test func changesByOthersDoNotDependOnRequests() {
        var adversary = SimulatorAdversary.harsh
        adversary.tokenLifeMilliseconds = nil
        var silent = ShelbyV2Simulator(seed: 3, at: Moments.start, adversary: adversary)
        var ada = Caller.shelby(seed: 3, adversary)
        silent.advance(to: ada.now + 1)
        ada.simulator.advance(to: ada.now + 1)
        for _ in 0..<100 { _ = ada.answer("GET", "/v2/users.json") }
        silent.advance(to: ada.now)
        let isSame = silent.world == ada.simulator.world
        let hasMoved = silent.world != ShelbyV2World(seed: 3, at: Moments.start)
        #expect(isSame && hasMoved)
    }

    @Test func connectionIsCutBeforeOrAfterTheEffect() throws {
        for (hasWritten, field) in [
            (false, \SimulatorAdversary.cutBeforeRate), (true, \.cutAfterRate),
        ] {
            var adversary = SimulatorAdversary()
            adversary[keyPath: field] = 1
            var ada = Caller.shelby(adversary)
            let id = ada.simulator.world.broadcasts[0].id
            let answer = ada.answer(
                "PUT", "/v2/broadcasts/\(id).json", form: ["liked_by_owner": "true"])
            #expect(answer == .cut)
            #expect(ada.simulator.effects.isEmpty == !hasWritten)
            #expect(ada.simulator.world.broadcasts[0].isLiked == hasWritten)
        }
    }

    @Test func serverErrorComesBeforeOrAfterTheEffect() throws {
        for (hasWritten, field) in [
            (false, \SimulatorAdversary.serverErrorRate), (true, \.serverErrorAfterRate),
        ] {
            var adversary = SimulatorAdversary()
            adversary[keyPath: field] = 1
            var ada = Caller.shelby(adversary)
            let id = ada.simulator.world.broadcasts[0].id
            let answer = try ada.call(
                "PUT", "/v2/broadcasts/\(id).json", form: ["liked_by_owner": "true"])
            #expect(answer.status == 500 && answer.json == nil)
            #expect(ada.simulator.effects.isEmpty == !hasWritten)
        }
    }

    @Test func unavailableSystemsSendRetryAfter() throws {
        var adversary = SimulatorAdversary()
        adversary.unavailableRate = 1
        adversary.retryAfterSeconds = 7
        var ada = Caller.shelby(adversary)
        let answer = try ada.call("GET", "/v2/users.json")
        #expect(answer.status == 503 && answer.header("retry-after") == "7")
    }

    @Test func quotaIsExhaustedAndRenewed() throws {
        var adversary = SimulatorAdversary()
        adversary.quotaMax = 3
        adversary.quotaMilliseconds = 3_600_000
        var ada = Caller.shelby(adversary)
        let statuses = try (0..<5).map { _ in try ada.call("GET", "/v2/users.json").status }
        #expect(statuses == [200, 200, 200, 429, 429])
        let answer = try ada.call("GET", "/v2/users.json")
        let seconds = try #require(answer.header("Retry-After").flatMap { Int64($0) })
        ada.now += seconds * 1_000
        #expect(try ada.call("GET", "/v2/users.json").status == 200)
    }

    @Test func rowsOfOthersArriveLateWithOlderDates() throws {
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = 10_000
        adversary.lateRate = 0.5
        var ada = Caller.shelby(adversary)
        ada.simulator.advance(to: ada.now)
        var known = Set(try ada.broadcasts().texts("_id"))
        var late = 0
        for _ in 0..<50 {
            ada.now += 10_000
            let rows = try ada.broadcasts().texts("_id")
            let newest = known.max() ?? ""
            late += rows.filter { !known.contains($0) && $0 < newest }.count
            known.formUnion(rows)
        }
        #expect(late > 0)
    }

    @Test func rowsWithTheSameDateComeInAnyOrder() throws {
        var adversary = SimulatorAdversary()
        adversary.shufflesTies = true
        var ada = Caller.shelby(adversary)
        for index in ada.simulator.world.broadcasts.indices {
            ada.simulator.world.broadcasts[index].createdAt = Moments.start
        }
        let orders = try (0..<5).map { _ in try ada.broadcasts().texts("_id") }
        #expect(Set(orders).count > 1)
        #expect(Set(orders.map(Set.init)).count == 1)
    }

    @Test func othersRemoveRowsSilently() throws {
        var adversary = SimulatorAdversary()
        adversary.othersMilliseconds = 1_000
        adversary.deletionRate = 1
        var ada = Caller.shelby(adversary)
        ada.simulator.advance(to: ada.now)
        let before = try ada.broadcasts().count
        ada.now += 30_000
        #expect(try ada.broadcasts().count < before)
    }
}
