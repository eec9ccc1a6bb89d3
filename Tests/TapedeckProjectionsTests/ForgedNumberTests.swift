import TapedeckLMDB
import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Forged numbers in the rows of a views file, which have no checksum, never end the process.
///
/// `TapedeckLogTests/ForgedNumberTests` contains the same test for the log.
@Suite(.offTasks) struct ForgedNumberTests {
    enum Number: CaseIterable {
        /// The number of the last batch of changes.
        case batch
        /// The number of events of a key.
        case count
        /// The position and the override change of a checkpoint, which are compared with the log
        /// when the file is opened.
        case position, change
    }

    private static let extremes: [UInt64] = [
        0, 1, 1 << 31, 1 << 32 - 1, 1 << 63 - 1, 1 << 63, .max,
    ]

    private func forge(_ value: UInt64, _ number: Number, in store: TestStore) throws {
        for (file, drivers) in try #require(try store.runner.serving(store.runner.drivers)) {
            try file.environment.write { transaction in
                switch number {
                case .batch:
                    guard let last = try transaction.cursor(file.diffs).last() else { return }
                    let (key, batch) = (Array(last.key), Array(last.value))
                    try transaction.delete(file.diffs, key)
                    try transaction.put(file.diffs, integer: value, batch)
                case .count:
                    for driver in drivers where driver.law == .canonical {
                        let states = try #require(file.tables[driver.fingerprint]).states
                        guard let row = try transaction.cursor(states).last() else { continue }
                        var reader = ByteReader(row.value)
                        reader.offset = 1
                        _ = reader.varint()
                        var state = Array(row.value.prefix(1))
                        state.appendVarint(value)
                        state.append(contentsOf: row.value[reader.offset...])
                        try transaction.put(states, Array(row.key), state)
                    }
                case .position, .change:
                    for driver in drivers {
                        let key = ProjectionCheckpoint.key(driver.fingerprint)
                        guard let held = try transaction.get(file.meta, key) else { continue }
                        var row = Array(held)
                        var bytes: [UInt8] = []
                        bytes.appendLittleEndian(value)
                        let start = number == .position ? 0 : 8
                        row.replaceSubrange(start..<start + 8, with: bytes)
                        try transaction.put(file.meta, key, row)
                    }
                }
            }
        }
    }

    @Test(arguments: Number.allCases, extremes)
    func forgedNumberInAViewsFileIsHarmless(_ number: Number, _ value: UInt64) throws {
        let store = try TestStore()
        for index in 0..<6 {
            try store.append(NoteAdded(isbn: "\(index % 2)", reader: "r", text: "\(index)"))
        }
        try store.touch()
        try forge(value, number, in: store)
        try store.append(NoteAdded(isbn: "0", reader: "r", text: "6"))
        try store.append(NoteAdded(isbn: "1", reader: "r", text: "7"))
        // Such a number cannot be correct, so the tables are rebuilt.
        if value > StoredNumber.max, [.batch, .count].contains(number) {
            try store.touch()
            try store.checkVerifies()
        } else {
            try? store.touch()
        }
        try store.reopen()
        try? store.touch()
        _ = try? store.runner.explain("reader-notes", key: Tag("reader", "r"))
    }
}
