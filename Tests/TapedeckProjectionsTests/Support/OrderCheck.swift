import TapedeckLog
import TapedeckModel
import TapedeckProjections
import Testing

/// Checks that the same events and receipts give the same bytes.
///
/// A reference store records a history in one batch and is built by one worker. Other stores record
/// the history in other orders, in batches of any size, with receipts at any time after their
/// events; in between they fold live, rebuild, close or crash. At the end, each store must equal
/// the reference, both after live folding and after a rebuild.
struct OrderCheck {
    let projections: [any Projection]
    let history: History
    let seed: Seed

    /// Runs up to `rounds` times, and returns the differences from the reference in the first run
    /// that differs; empty if no run differs.
    func differences(rounds: Int) throws -> [String] {
        let expected = try reference()
        for round in 1...rounds {
            let found = try run(round, expected)
            if !found.isEmpty { return found.map { "\(seed), round \(round): \($0)" } }
        }
        return []
    }

    private struct Outcome: Equatable {
        var digests: [String: String]
        var frozen: Set<String>
    }

    private func reference() throws -> Outcome {
        let store = try TestStore(projections, isLive: false)
        try store.log.record(history.origins.flatMap { $0 })
        try store.log.recordReceipts(history.receipts)
        let report = try store.runner.rebuild(options: RebuildOptions(workers: 1))
        return Outcome(digests: report.digests, frozen: OrderCheck.names(report.frozen))
    }

    private static func names(_ frozen: [FrozenKey]) -> Set<String> {
        // Positions are not compared, because each store assigns its own positions.
        Set(frozen.map { "\($0.projection) \($0.key) \($0.event) \($0.reason)" })
    }

    // MARK: - One run

    private func run(_ round: Int, _ expected: Outcome) throws -> [String] {
        var random = seed.generator(round)
        let store = try TestStore(projections, isLive: random.chance(60))
        var waiting = history.receipts.shuffled(using: &random)
        var arrived: [OriginID: UInt64] = [:]
        var rest = history.arrival(&random)[...]
        let batchMax = random.pick([3, 20, 100, 400])
        while !rest.isEmpty {
            let batch = rest.prefix(1 + random.number(below: batchMax))
            rest = rest.dropFirst(batch.count)
            try store.log.record(Array(batch))
            for event in batch { arrived[event.origin, default: 0] += 1 }
            if random.chance(30) {
                let (known, later) = OrderCheck.split(waiting, arrived)
                let now = known.prefix(random.number(below: known.count + 1))
                try store.log.recordReceipts(Array(now))
                waiting = Array(known.dropFirst(now.count)) + later
            }
            try meddle(store, &random)
        }
        if random.chance(50) { try store.touch() }
        try store.log.recordReceipts(waiting)
        return try compare(store, expected, &random)
    }

    private static func split(
        _ receipts: [Receipt], _ arrived: [OriginID: UInt64]
    ) -> (known: [Receipt], later: [Receipt]) {
        func isKnown(_ receipt: Receipt) -> Bool {
            receipt.event.sequence <= arrived[receipt.event.origin] ?? 0
        }
        return (receipts.filter(isKnown), receipts.filter { !isKnown($0) })
    }

    /// Does something random between two batches.
    private func meddle(_ store: TestStore, _ random: inout SeededGenerator) throws {
        let one = [random.pick(projections).name]
        switch random.number(below: 20) {
        case 0..<7: try store.touch()
        case 7..<10: try store.touch(one)
        case 10:
            _ = try store.runner.rebuild(
                options: RebuildOptions(workers: random.pick([1, 2, 4, 8])))
        case 11: _ = try store.runner.rebuild(one)
        case 12: try store.reopen()
        case 13: try store.reopen(settled: false)
        case 14: try store.log.mergeIndex()
        case 15: try store.reopenAfterPowerLoss()
        default: break
        }
    }

    private func compare(
        _ store: TestStore, _ expected: Outcome, _ random: inout SeededGenerator
    ) throws -> [String] {
        var found: [String] = []
        let live = Outcome(
            digests: try store.liveDigests(),
            frozen: OrderCheck.names(try store.runner.frozenKeys()))
        found += OrderCheck.compare("live", live, expected)
        found += try store.runner.verify().differences.map { "verify: \($0)" }
        let workers = random.pick([1, 2, 4, 8])
        let report = try store.runner.rebuild(options: RebuildOptions(workers: workers))
        let rebuilt = Outcome(digests: report.digests, frozen: OrderCheck.names(report.frozen))
        found += OrderCheck.compare("rebuilt by \(workers)", rebuilt, expected)
        return found
    }

    private static func compare(_ what: String, _ one: Outcome, _ other: Outcome) -> [String] {
        var found: [String] = []
        for name in Set(one.digests.keys).union(other.digests.keys).sorted()
        where one.digests[name] != other.digests[name] {
            found.append("\(what): \(name) has a different digest")
        }
        for name in one.frozen.symmetricDifference(other.frozen).sorted() {
            found.append("\(what): \(name) is frozen in only one of the two")
        }
        return found
    }
}
