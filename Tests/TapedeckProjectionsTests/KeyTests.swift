import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Keys of any form are kept apart: long keys, keys that look alike, and keys with equal hashes.
@Suite(.offTasks) struct KeyTests {
    /// Appends notes about the named books, one at a time and then several, and checks that each
    /// book has its own notes.
    private func checkDistinct(
        _ names: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let store = try TestStore()
        for (number, name) in names.enumerated() {
            for round in 0...number {
                try store.append(
                    NoteAdded(isbn: name, reader: "r", text: "\(round)"),
                    LoanStarted(isbn: name, reader: "s"))
            }
            try store.touch()
        }
        try store.checkVerifies(sourceLocation: sourceLocation)
        // Add late events, so that the index has to find the events of each key.
        for name in names {
            try store.log.appendBlocking([
                try ProposedEvent(
                    NoteAdded(isbn: name, reader: "r", text: "late"), atMilliseconds: 1_000)
            ])
        }
        try store.checkVerifies("late", sourceLocation: sourceLocation)
        for workers in [1, 3] {
            _ = try store.runner.rebuild(options: RebuildOptions(workers: workers))
            for (number, name) in names.enumerated() {
                let (history, items) = try store.runner.read { views in
                    (
                        try views.state(of: BookHistory(), key: Tag("book", name)),
                        try views.items(
                            of: OpenLoans(), key: Tag("book", name), prefix: RowKey(), after: nil,
                            limit: 100)
                    )
                }
                let notes = UInt64(number + 2)
                #expect(
                    history?.count == notes + UInt64(number + 1), "\(name)",
                    sourceLocation: sourceLocation)
                #expect(
                    UInt64(items.count) == min(notes, UInt64(OpenLoans.notesMax)) + 1, "\(name)",
                    sourceLocation: sourceLocation)
            }
        }
    }

    @Test func longKeysStayDistinct() throws {
        let stem = String(repeating: "x", count: 199)
        // Use keys that are about as long as the longest untruncated key, and keys that are equal
        // far beyond that length.
        var names = (213...218).map { String(repeating: "y", count: $0) }
        names += [
            stem + String(repeating: "a", count: 196), stem + String(repeating: "a", count: 195),
        ]
        names += [stem + String(repeating: "a", count: 195) + "b", stem]
        try checkDistinct(names)
    }

    @Test func keysThatLookAlikeStayDistinct() throws {
        try checkDistinct([
            "caf\u{E9}", "cafe\u{301}", "a", "a ", " a", "a/b", "a//b", "\u{0}", "\u{0}\u{0}",
            "\u{1F600}",
            "\u{1F469}\u{200D}\u{1F680}", "\u{202E}abc", "\u{FEFF}a", "ß", "SS", "\u{10FFFF}",
            "\u{212B}", "\u{C5}", "%00", "null",
        ])
    }

    @Test func keysWithEqualHashesStayDistinct() throws {
        let names = try collidingNames(of: "book/", count: 4)
        let hashes = Set(try names.map { ViewKey(try Tag("book", $0)).hash })
        #expect(hashes.count == 1)
        #expect(Set(names).count == 4)
        try checkDistinct(names)
    }

    /// One event concerns two keys with equal hashes; another event has a tag with the same hash,
    /// but of a kind that routes another projection.
    @Test func eventOfTwoKeysWithEqualHashesIsFoldedIntoBoth() throws {
        let names = try collidingNames(of: "shelf/", count: 3)
        let store = try TestStore()
        for _ in 0..<3 {
            try store.append(
                BookMoved(isbn: "1", from: names[0], to: names[1]),
                BookMoved(isbn: "2", from: names[2], to: names[0]),
                BookMoved(isbn: "3", from: names[1], to: names[1]))
            try store.checkVerifies()
        }
        for (name, count) in zip(names, [6, 6, 3] as [UInt64]) {
            let states = try store.runner.read { views in
                (
                    try views.state(of: ShelfHistory(), key: Tag("shelf", name)),
                    try views.state(of: ShelfCounts(), key: Tag("shelf", name))
                )
            }
            #expect(states.0?.count == count)
            #expect(states.1?.moves == count)
        }
    }

    /// Returns names whose tags have the same hash.
    ///
    /// The hash processes words of eight bytes. For any second word of a name, there is therefore a
    /// third word that gives the same hash. Names with an unprintable third word are skipped.
    private func collidingNames(of prefix: String, count: Int) throws -> [String] {
        let prime: UInt64 = 0x0000_0100_0000_01B3
        func step(_ hash: UInt64, _ word: UInt64) -> UInt64 {
            let mixed = (hash ^ word) &* prime
            return mixed ^ mixed >> 29
        }
        func word(_ text: some Sequence<UInt8>) -> UInt64 {
            text.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        let fill = String(repeating: "f", count: 8 - prefix.utf8.count)
        let start = step(0xCBF2_9CE4_8422_2325 ^ 3, word((prefix + fill).utf8))
        let target = step(start, word("thefirst".utf8)) ^ word("collides".utf8)
        var names = [fill + "thefirst" + "collides"]
        var random = SeededGenerator(7)
        while names.count < count {
            let middle = (0..<8).map { _ in UInt8(0x61 + random.number(below: 26)) }
            let last = step(start, word(middle)) ^ target
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: last >> (8 * $0)) }
            guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { continue }
            names.append(fill + String(decoding: middle + bytes, as: UTF8.self))
        }
        return names
    }
}
