internal import TapedeckLMDB
internal import TapedeckModel

/// The rows of a key in the tables of a projection, used to find the lists that show the key.
struct KeyRows {
    let projection: Digest16
    let key: ViewKey
    /// The rows, with keys that start with the table number.
    let rows: [Row]

    /// The maximum number of items whose rows are included.
    static let itemsMax = 1_000

    /// Returns the keys of the rows in a table.
    func keys(in table: Int) -> [[UInt8]] {
        rows.filter { $0.key.first.map(Int.init) == table }.map { Array($0.key.dropFirst()) }
    }
}

extension Views {
    /// Returns the rows of a key; empty if the key has no state or its state is unreadable.
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
