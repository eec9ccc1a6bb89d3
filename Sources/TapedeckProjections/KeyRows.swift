internal import TapedeckLMDB
internal import TapedeckModel

/// The rows that a key has in the tables of a projection: where a list may show something of it.
struct KeyRows {
    let projection: Digest16
    let key: ViewKey
    /// In front of each key stands its table.
    let rows: [Row]

    /// So many items of a key are asked for their rows.
    static let itemsMax = 1_000

    /// The keys of the rows of a table.
    func keys(in table: Int) -> [[UInt8]] {
        rows.filter { $0.key.first.map(Int.init) == table }.map { Array($0.key.dropFirst()) }
    }
}

extension Views {
    /// The rows of a key; none where no event of it was folded, or where it cannot be read back.
    func rows(of key: Tag, _ driver: ProjectionDriver) throws -> KeyRows {
        let name = ViewKey(key)
        var sink = RowSink()
        if let (tables, transaction) = tables(of: driver.fingerprint),
            let bytes = try transaction.get(tables.states, name.bytes)
        {
            do {
                try driver.rows(key: key, stored: StoredKey(bytes, law: driver.law), into: &sink)
                if driver.itemsYieldRows {
                    let items = try scan(
                        transaction, tables.items, from: name.bytes, after: nil,
                        upTo: KeyRange.upper(of: name.bytes), dropping: name.bytes.count,
                        limit: KeyRows.itemsMax)
                    for item in items { try driver.rows(ofItem: item, key: key, into: &sink) }
                }
            } catch is StoredRowError {}
        }
        return KeyRows(projection: driver.fingerprint, key: name, rows: sink.rows)
    }
}
