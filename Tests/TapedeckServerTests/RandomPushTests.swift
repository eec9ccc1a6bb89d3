import Foundation
import TapedeckModel
import TapedeckServer
import TapedeckSyncProtocol
import Testing

/// Random pushes, pulls, lost responses and restarts, compared with a simple model.
@Suite struct RandomPushTests {
    @Test(arguments: StorageKind.allCases)
    func storageMatchesTheModel(kind: StorageKind) async throws {
        let seed = Seed.fresh()
        for round in 0..<(kind == .lmdb ? 8 : 24) as Range<UInt64> {
            try await run(kind, seed &+ round, steps: 60)
        }
    }

    private func run(_ kind: StorageKind, _ seed: UInt64, steps: Int) async throws {
        var random = SeededRandom(seed)
        let refusedEvery = UInt64.random(in: 3...9, using: &random)
        let it = try await StorageUnderTest(
            kind, refuses: { $0.id.sequence % refusedEvery == 0 ? .tooLarge : nil })
        var model = Model(refusedEvery: refusedEvery)
        var reader = SpaceReader(try await it.lineage())
        for step in 0..<steps {
            let note: Comment = "seed \(seed), step \(step)"
            it.clock.milliseconds = UInt64(
                Int64(it.clock.milliseconds) + .random(in: -5_000...5_000, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try it.reopen()
            case 1...2:
                _ = try await reader.read(
                    it.storage, it.space, bytesMax: .random(in: 0...5_000, using: &random))
            default:
                let push = model.randomPush(&random)
                let expected = model.take(push)
                let answer = try await it.push(push.entries)
                // If the response is lost, the device sends the same push again.
                let again = random.chance(30) ? try await it.push(push.entries) : answer
                #expect(answer.positions == expected.positions, note)
                #expect(answer.problem.kind == expected.problem, note)
                #expect(answer.fresh == expected.fresh, note)
                // A receipt that was new the first time is known the second time and gets position
                // 0.
                #expect(
                    zip(again.positions, answer.positions).allSatisfy { $0 == $1 || $0 == 0 }, note)
                #expect(again.refusals == answer.refusals, note)
            }
        }
        while try await reader.read(it.storage, it.space) {}
        #expect(reader.entries.map(\.body) == model.log, "seed \(seed)")
        #expect(reader.entries.map { $0.refusal != nil } == model.refused, "seed \(seed)")
        let times = reader.entries.map(\.receivedAt)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
        #expect(reader.entries == (try await it.readAll().entries), "seed \(seed)")
    }
}

private struct Push {
    enum Item {
        case event(EventID, fork: Bool)
        case receipt(Receipt)
        case malformed
    }

    var items: [Item]

    var entries: Data {
        var bytes: [UInt8] = []
        for item in items { bytes.append(item) }
        return Data(bytes)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ item: Push.Item) {
        switch item {
        case .event(let id, let fork): appendEvent(sampleEvent(id, fork ? "fork" : "note"))
        case .receipt(let receipt): appendEntry(receipt)
        case .malformed: appendEvent([1, 2, 3])
        }
    }
}

/// The expected contents of a space.
private struct Model {
    var refusedEvery: UInt64
    var log: [[UInt8]] = []
    var refused: [Bool] = []
    private var positions: [EventID: UInt64] = [:]
    private var last: [UInt64: UInt64] = [:]
    private var forks: Set<EventID> = []
    private var receipts: Set<Receipt> = []

    init(refusedEvery: UInt64) { self.refusedEvery = refusedEvery }

    struct Expected {
        var positions: [UInt64] = []
        var fresh: UInt64 = 0
        var problem = WireProblem.Kind.unspecified
    }

    mutating func take(_ push: Push) -> Expected {
        var expected = Expected()
        for item in push.items {
            switch item {
            case .event(let id, let fork):
                let next = last[id.origin.low, default: 0] + 1
                if id.sequence > next {
                    expected.problem = .gap
                    return expected
                }
                if let known = positions[id] {
                    if forks.contains(id) != fork {
                        expected.problem = .fork
                        return expected
                    }
                    expected.positions.append(known)
                    continue
                }
                if fork { forks.insert(id) }
                last[id.origin.low] = id.sequence
                add(item, isRefused: id.sequence % refusedEvery == 0)
                positions[id] = UInt64(log.count)
                expected.positions.append(UInt64(log.count))
                expected.fresh += 1
            case .receipt(let receipt):
                guard positions[receipt.event] != nil else {
                    expected.problem = .unknownEvent
                    return expected
                }
                guard receipts.insert(receipt).inserted else {
                    expected.positions.append(0)
                    continue
                }
                add(item, isRefused: false)
                expected.positions.append(UInt64(log.count))
                expected.fresh += 1
            case .malformed:
                expected.problem = .malformed
                return expected
            }
        }
        return expected
    }

    private mutating func add(_ item: Push.Item, isRefused: Bool) {
        var bytes: [UInt8] = []
        bytes.append(item)
        log.append(Array(bytes.dropFirst(SyncEntryReader.headCount)))
        refused.append(isRefused)
    }

    /// Returns a push that contains some known entries and mostly resembles a push from a correct
    /// device.
    func randomPush(_ random: inout SeededRandom) -> Push {
        let origin = UInt64.random(in: 1...4, using: &random)
        let known = last[origin, default: 0]
        var first = known + 1
        if random.chance(30) { first = UInt64.random(in: 1...first, using: &random) }
        if random.chance(5) { first += 2 }
        let count = UInt64.random(in: 0...6, using: &random)
        var items: [Push.Item] = []
        for sequence in first..<first + count {
            items.append(.event(EventID(origin, sequence), fork: random.chance(2)))
            if random.chance(10) { items.append(.receipt(randomReceipt(&random))) }
            if random.chance(1) { items.append(.malformed) }
        }
        return Push(items: items)
    }

    /// Returns a receipt from one of three former lineages; the receipt for an event and lineage is
    /// always the same.
    private func randomReceipt(_ random: inout SeededRandom) -> Receipt {
        let origin = UInt64.random(in: 1...4, using: &random)
        let sequence = UInt64.random(in: 1...(last[origin, default: 0] + 1), using: &random)
        let lineage = UInt64.random(in: 901...903, using: &random)
        return Receipt(
            event: EventID(origin, sequence), lineage: .sample(lineage), serverPosition: sequence,
            receivedAt: Stamp(milliseconds: lineage * 100 + sequence))
    }
}
