internal import TapedeckLMDB
internal import TapedeckModel

/// A term and one of its positions.
struct TermPosition {
    var term: UInt64
    var position: UInt64
}

/// Writes the entries of a run, term by term.
struct RunWriter {
    let number: UInt32
    private var key: [UInt8] = []
    private var value: [UInt8] = []

    init(_ number: UInt32) { self.number = number }

    /// Writes a term with its positions in ascending order; duplicates are written once.
    mutating func write(
        _ term: UInt64, _ positions: some RandomAccessCollection<TermPosition>,
        _ cursor: borrowing Cursor
    ) throws {
        var index = positions.startIndex
        while index < positions.endIndex {
            var last = positions[index].position
            key.removeAll(keepingCapacity: true)
            value.removeAll(keepingCapacity: true)
            IndexEntry.appendKey(&key, run: number, term: term, first: last)
            index = positions.index(after: index)
            while index < positions.endIndex, value.count < IndexEntry.valueCountMax {
                let position = positions[index].position
                index = positions.index(after: index)
                guard position != last else { continue }
                guard position > last else { throw IndexCatalogue.damaged }
                value.appendVarint(position - last)
                last = position
            }
            SealedValue.seal(&value, key: key)
            try cursor.put(key, value)
        }
    }
}

/// Reads a run from start to end in several transactions, which is possible because runs never
/// change.
struct RunReader {
    /// The number of entries to read at once.
    private static let entriesPerReadMax = 512

    let number: UInt32
    private var buffer: [TermPosition] = []
    private var index = 0
    /// The key to continue from; nil at the end.
    private var next: [UInt8]?

    init(_ number: UInt32) {
        self.number = number
        next = IndexEntry.key(run: number, term: 0)
    }

    /// Returns the next term and position, or nil at the end.
    mutating func head(
        _ table: Table, _ transaction: borrowing WriteTransaction
    ) throws -> TermPosition? {
        if index < buffer.count { return buffer[index] }
        guard let from = next else { return nil }
        buffer.removeAll(keepingCapacity: true)
        index = 0
        next = nil
        let cursor = try transaction.cursor(table)
        // An entry whose key is damaged keeps its place in the table, so it may be the last one
        // before `from`. Without this check, the merge would lose that entry.
        let before = try cursor.lastBelow(from)
        try IndexEntry.check(before)
        var entry = before == nil ? try cursor.first() : try cursor.next()
        var count = 0
        while let found = entry, let read = IndexEntry.read(found.key), read.run == number {
            if count == RunReader.entriesPerReadMax {
                next = Array(found.key)
                break
            }
            try IndexEntry.forEachPosition(found) {
                buffer.append(TermPosition(term: read.term, position: $0))
            }
            count += 1
            entry = try cursor.next()
        }
        try IndexEntry.check(entry)
        return buffer.first
    }

    mutating func advance() { index += 1 }
}
