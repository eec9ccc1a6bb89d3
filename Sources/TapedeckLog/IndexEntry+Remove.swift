internal import TapedeckLMDB
internal import TapedeckModel

extension IndexEntry {
    /// Removes consecutive positions from the entries of the given terms.
    static func remove(
        _ positions: ClosedRange<UInt64>, of terms: Set<UInt64>, _ catalogue: IndexCatalogue,
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws {
        for run in catalogue.runs
        where run.lower < positions.upperBound && run.upper >= positions.lowerBound {
            var writer = RunWriter(run.number)
            for term in terms.sorted() {
                let doomed = try entries(of: term, positions, run.number, transaction, tables)
                for (key, _) in doomed { try transaction.delete(tables.index, key) }
                let cursor = try transaction.cursor(tables.index)
                for (_, kept) in doomed {
                    try writer.write(
                        term, kept.map { TermPosition(term: term, position: $0) }, cursor)
                }
            }
        }
    }

    /// Returns the entries of a term that contain any of the positions, each with the positions to
    /// keep.
    private static func entries(
        of term: UInt64, _ positions: ClosedRange<UInt64>, _ run: UInt32,
        _ transaction: borrowing WriteTransaction, _ tables: LogTables
    ) throws -> [(key: [UInt8], kept: [UInt64])] {
        var found: [(key: [UInt8], kept: [UInt64])] = []
        let cursor = try transaction.cursor(tables.index)
        // An entry that begins before the positions may extend into them.
        let start = key(run: run, term: term, first: positions.lowerBound)
        var entry = try cursor.lastBelow(start)
        try check(entry)
        if !(entry.flatMap { read($0.key) }.map { $0.run == run && $0.term == term } ?? false) {
            entry = try cursor.seek(start)
        }
        while let row = entry, let name = read(row.key), name.run == run, name.term == term,
            name.first <= positions.upperBound
        {
            var kept: [UInt64] = []
            var count = 0
            try forEachPosition(row) {
                count += 1
                if !positions.contains($0) { kept.append($0) }
            }
            if kept.count < count { found.append((Array(row.key), kept)) }
            entry = try cursor.next()
        }
        try check(entry)
        return found
    }
}
