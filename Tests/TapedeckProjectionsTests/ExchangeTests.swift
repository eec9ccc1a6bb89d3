import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections
import TestSupport
import Testing

/// Devices that exchange their logs through the public API reach the same state.
@Suite(.offTasks) struct ExchangeTests {
    @Test func storesAgreeAfterExchangingEvents() throws {
        let seed = Seed()
        var random = seed.generator()
        let stores = try (0..<3).map { _ in try TestStore() }
        let generated = try HistoryGenerator(events: 450, originCount: 3).generate(&random)
        var rest = generated.origins.map { $0[...] }
        while rest.contains(where: { !$0.isEmpty }) {
            let device = random.number(below: stores.count)
            let written = rest[device].prefix(1 + random.number(below: 30))
            rest[device] = rest[device].dropFirst(written.count)
            if !written.isEmpty {
                try stores[device].log.appendBlocking(written.map(\.proposal))
            }
            if random.chance(40) { try stores[device].touch() }
            if random.chance(25) {
                try pass(from: stores[device], to: stores[random.number(below: 3)])
            }
        }
        // Two rounds through the ring bring all events to all stores.
        for turn in 0..<6 { try pass(from: stores[turn % 3], to: stores[(turn + 1) % 3]) }
        let digests = try stores.map { try $0.liveDigests() }
        #expect(digests[0] == digests[1], "\(seed)")
        #expect(digests[1] == digests[2], "\(seed)")
        for store in stores {
            try store.checkVerifies("\(seed)")
            #expect(try store.log.events(after: .start).count == 450)
        }
    }

    private func pass(from store: TestStore, to other: TestStore) throws {
        guard store !== other else { return }
        let path = TestStore.emptyDirectory() + ".export"
        defer { TestStore.remove(path) }
        try store.log.export(to: path)
        try other.log.importEvents(from: path)
    }
}
