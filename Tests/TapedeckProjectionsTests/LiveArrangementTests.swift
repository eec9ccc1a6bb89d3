import TestSupport
import Testing

@testable import TapedeckProjections

/// The reported changes of an arranged list transform its old entries into its new entries.
@Suite(.offTasks) struct LiveArrangementTests {
    private struct Item: Hashable, Sendable {
        var name: Int
        var text: Int
    }

    private func changes(_ old: [Item], _ new: [Item]) -> [LiveChange<Item>] {
        LiveChange.changes(from: old, to: new, by: \.name)
    }

    @Test func changesTransformAnyListIntoAnyOther() {
        let seed = Seed()
        var random = seed.generator()
        func list() -> [Item] {
            let names = (0..<12).filter { _ in random.number(below: 3) > 0 }
            return names.map { Item(name: $0, text: random.number(below: 2)) }
                .shuffled(using: &random)
        }
        for _ in 0..<2_000 {
            var told = list()
            let new = list()
            let update = LiveUpdate(
                changes: changes(told, new), hasMore: false, nextChangeAt: nil)
            update.apply(to: &told)
            #expect(told == new, "\(seed)")
        }
    }

    @Test func entriesThatKeepTheirOrderAreNotMoved() {
        let list = (0..<6).map { Item(name: $0, text: 0) }
        #expect(changes(list, list) == [])
        // The first entry moves to the end. This is one move, although every index changes.
        let turned = Array(list[1...] + list[..<1])
        #expect(changes(list, turned) == [.moved(from: 0, to: 5, list[0])])
        #expect(changes(list, Array(list[2...])) == [.removed(at: 1), .removed(at: 0)])
        var changed = list
        changed[3].text = 1
        #expect(changes(list, changed) == [.updated(changed[3], at: 3)])
    }
}
