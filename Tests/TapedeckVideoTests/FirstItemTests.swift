@testable import TapedeckProjections
import TestSupport
import Testing

@testable import TapedeckVideo

/// Keeping the first item of a list in the state of a key.
@Suite struct FirstItemTests {
    private typealias Item = (name: [UInt8], value: [UInt8])

    private static func text(_ item: Item?) -> String {
        item.map { String(decoding: $0.name + [61] + $0.value, as: UTF8.self) } ?? "-"
    }

    /// The store behaves as one that keeps all items in one place.
    @Test(arguments: ["b", ""]) func storeBehavesLikePlainItems(_ list: String) throws {
        var random = SeededRandom(Seed.fresh())
        let (rest, plain) = (MemoryItems(), MemoryItems())
        var first: FirstItem?
        let names = ["a", "a1", "b", "b1", "b2", "b3", "c", "c1"].map { Array($0.utf8) }
        for step in 0..<2_000 {
            // Each fold begins with the item from the state.
            let store = try FirstItemStore(rest, Array(list.utf8), first)
            let name = random.pick(names)
            if random.chance(60) {
                let value = Array("\(step)".utf8)
                store.set(name, value)
                plain.set(name, value)
            } else {
                store.remove(name)
                plain.remove(name)
            }
            store.keep(in: &first)
            #expect(names.map(store.get) == names.map(plain.get))
            for prefix in ["", "a", "b", "b2", "c"].map({ Array($0.utf8) }) {
                #expect(Self.text(store.last(prefix)) == Self.text(plain.last(prefix)))
                for start in names where !start.lexicographicallyPrecedes(prefix) {
                    #expect(
                        Self.text(store.first(prefix, from: start))
                            == Self.text(plain.first(prefix, from: start)))
                }
            }
        }
    }

    /// The state and the other items are the same in whatever order items were set.
    @Test func placesOfItemsDoNotDependOnTheOrder() throws {
        var random = SeededRandom(Seed.fresh())
        let names = (0..<6).map { Array("b\($0)".utf8) }
        for _ in 0..<50 {
            let rest = MemoryItems()
            let store = try FirstItemStore(rest, [UInt8(ascii: "b")], nil)
            for name in names.shuffled(using: &random) { store.set(name, name) }
            var first: FirstItem?
            store.keep(in: &first)
            #expect(first == .item(name: names[0], value: names[0]))
            var others: [[UInt8]] = []
            rest.forEach { name, _ in others.append(Array(name)) }
            #expect(others == Array(names[1...]))
        }
    }
}
