import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// A fold sees its own changes on top of the stored items, and only the final differences are
/// written.
@Suite(.offTasks) struct ItemsTests {
    private let store: TestStore
    private let tables: ViewsFile.Tables
    private let key = ViewKey(Tag(unchecked: "reader/r"))

    init() throws {
        store = try TestStore([ReaderNotes()])
        tables = try #require(
            try store.file().tables[ProjectionDriver.fingerprint(of: ReaderNotes())])
    }

    private func write(_ items: [(name: [UInt8], value: [UInt8])]) throws {
        try store.file().environment.write { views in
            for other in ["reader/q", "reader/s"] {
                try views.put(
                    tables.items, ViewKey(Tag(unchecked: other)).bytes + Array("a".utf8), [])
            }
            for (name, value) in items { try views.put(tables.items, key.bytes + name, value) }
        }
    }

    private static func item(_ random: inout SeededGenerator) -> (name: [UInt8], value: [UInt8]) {
        let name = (0..<1 + random.number(below: 2)).map { _ in
            UInt8([0, 7, 255][random.number(below: 3)])
        }
        return (name, [UInt8(random.number(below: 3))])
    }

    @Test func storedItemsEqualItemsInMemoryAfterAnyChanges() throws {
        let seed = Seed()
        var random = seed.generator()
        for round in 0..<300 {
            let model = MemoryItems()
            var before: [[UInt8]: [UInt8]] = [:]
            for _ in 0..<random.number(below: 6) {
                let (name, value) = ItemsTests.item(&random)
                before[name] = value
                model.set(name, value)
            }
            try write(before.map { ($0.key, $0.value) })
            try store.file().environment.read { views in
                let items = LiveItems(views.alias)
                let isNew = before.isEmpty && random.number(below: 2) == 0
                items.begin(tables.items, key, isNew: isNew)
                for _ in 0..<12 {
                    let (name, value) = ItemsTests.item(&random)
                    switch random.number(below: 9) {
                    case 0...2:
                        items.set(name, value)
                        model.set(name, value)
                    case 3...5:
                        items.remove(name)
                        model.remove(name)
                    case 6 where random.number(below: 4) == 0:
                        items.clear()
                        model.clear()
                    default: break
                    }
                    let prefix = Array(name.dropLast())
                    #expect(items.get(name) == model.get(name), "\(seed), round \(round)")
                    #expect(items.first(prefix)?.name == model.first(prefix)?.name, "\(seed)")
                    #expect(items.first(prefix)?.value == model.first(prefix)?.value, "\(seed)")
                    let next = items.first(prefix, from: name + [0])
                    let expected = model.first(prefix, from: name + [0])
                    #expect(next?.name == expected?.name, "\(seed)")
                    #expect(next?.value == expected?.value, "\(seed)")
                    #expect(items.last(prefix)?.name == model.last(prefix)?.name, "\(seed)")
                    #expect(items.last(prefix)?.value == model.last(prefix)?.value, "\(seed)")
                }
                var after = before
                try items.forEachChange { name, old, new in
                    #expect(before[Array(name)] == old.map { Array($0) }, "\(seed)")
                    #expect(old.map { Array($0) } != new.map { Array($0) }, "\(seed)")
                    after[Array(name)] = new.map { Array($0) }
                }
                try items.check()
                var expected: [[UInt8]: [UInt8]] = [:]
                model.forEach { expected[Array($0)] = Array($1) }
                #expect(after == expected, "\(seed), round \(round)")
            }
            try store.file().environment.write { try $0.clear(tables.items) }
        }
    }
}
