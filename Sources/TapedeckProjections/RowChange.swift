internal import TapedeckModel

/// What happened to the rows of one key in one table.
public enum RowChange: Hashable, Sendable {
    /// A row that was not there.
    case inserted(Row)
    /// A row that is no longer there.
    case removed(key: [UInt8])
    /// A row whose value is another.
    case updated(Row)
    /// A row that stands at another place in the table, perhaps with another value.
    case moved(from: [UInt8], to: Row)
}

/// The rows of one table that one commit changed.
public enum RowChanges: Hashable, Sendable {
    /// Read the table again: the observer was overtaken, or the table was rebuilt.
    case reset
    /// What changed, in the order of the keys that were folded.
    case changes([RowChange])
}

/// The changed rows of one commit, as they stand in the ring of diffs.
struct DiffBatch {
    struct Entry {
        var projection: UInt64
        var table: UInt8
        var change: RowChange
    }

    /// A commit that changed more rows is told as a reset.
    static let entriesMax = 2_048
    /// What stands for a table where items have changed; a row's key is then the item's in its own table.
    static let itemsTable = 255
    /// What stands for a table where states have changed; a row's key is then the state's, and its value is empty.
    static let statesTable = 254
    /// So many commits are kept for observers; one that is further behind gets a reset.
    static let batchesMax: UInt64 = 1_024

    var entries: [Entry] = []
    var isReset = false

    mutating func add(_ change: RowChange, projection: Digest16, table: Int) {
        guard !isReset else { return }
        guard entries.count < DiffBatch.entriesMax else {
            isReset = true
            entries.removeAll()
            return
        }
        entries.append(Entry(projection: projection.high, table: UInt8(table), change: change))
    }

    /// Compares the rows of a key before and after a fold.
    mutating func add(
        from old: borrowing RowSink, to new: borrowing RowSink, projection: Digest16,
        _ put: (_ table: Int, Row) throws -> Void, _ delete: (_ table: Int, [UInt8]) throws -> Void
    ) throws {
        let before = old.rowsByTable()
        let after = new.rowsByTable()
        for table in Set(before.keys).union(after.keys).sorted() {
            var removed = before[table] ?? [:]
            var inserted: [Row] = []
            for row in (after[table] ?? [:]).map({ Row(key: $0.key, value: $0.value) })
                .sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
            {
                if let value = removed.removeValue(forKey: row.key) {
                    if value == row.value { continue }
                    try put(table, row)
                    add(.updated(row), projection: projection, table: table)
                } else {
                    inserted.append(row)
                }
            }
            for key in removed.keys { try delete(table, key) }
            for row in inserted { try put(table, row) }
            if let from = removed.keys.first, removed.count == 1, inserted.count == 1 {
                add(.moved(from: from, to: inserted[0]), projection: projection, table: table)
                continue
            }
            for key in removed.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                add(.removed(key: key), projection: projection, table: table)
            }
            for row in inserted { add(.inserted(row), projection: projection, table: table) }
        }
    }

    /// Tells of an item that has changed.
    mutating func add(
        itemOf key: ViewKey, _ name: [UInt8], from before: [UInt8]?, to after: [UInt8]?,
        projection: Digest16
    ) {
        let place = key.bytes + name
        guard let after else {
            return add(.removed(key: place), projection: projection, table: DiffBatch.itemsTable)
        }
        let row = Row(key: place, value: after)
        add(
            before == nil ? .inserted(row) : .updated(row), projection: projection,
            table: DiffBatch.itemsTable)
    }

    /// Tells that a key's state has changed.
    mutating func add(stateOf key: ViewKey, projection: Digest16) {
        add(
            .updated(Row(key: key.bytes, value: [])), projection: projection,
            table: DiffBatch.statesTable)
    }

    // MARK: - Bytes

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = [isReset ? 1 : 0]
        for entry in entries {
            bytes.appendLittleEndian(entry.projection)
            bytes.append(entry.table)
            switch entry.change {
            case .inserted(let row): DiffBatch.append(0, [row.key, row.value], &bytes)
            case .removed(let key): DiffBatch.append(1, [key], &bytes)
            case .updated(let row): DiffBatch.append(2, [row.key, row.value], &bytes)
            case .moved(let from, let to): DiffBatch.append(3, [from, to.key, to.value], &bytes)
            }
        }
        return bytes
    }

    private static func append(_ kind: UInt8, _ parts: [[UInt8]], _ bytes: inout [UInt8]) {
        bytes.append(kind)
        for part in parts { bytes.appendPrefixed(part) }
    }

    init() {}

    init?(decoding bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let flag = reader.littleEndian(UInt8.self) else { return nil }
        isReset = flag == 1
        while !reader.isAtEnd {
            guard let projection = reader.littleEndian(UInt64.self),
                let table = reader.littleEndian(UInt8.self),
                let kind = reader.littleEndian(UInt8.self), let first = reader.prefixed()
            else { return nil }
            let key = Array(first)
            let change: RowChange
            switch kind {
            case 1: change = .removed(key: key)
            case 0, 2:
                guard let value = reader.prefixed() else { return nil }
                let row = Row(key: key, value: Array(value))
                change = kind == 0 ? .inserted(row) : .updated(row)
            case 3:
                guard let to = reader.prefixed(), let value = reader.prefixed() else { return nil }
                change = .moved(from: key, to: Row(key: Array(to), value: Array(value)))
            default: return nil
            }
            entries.append(Entry(projection: projection, table: table, change: change))
        }
    }
}

extension RowSink {
    fileprivate borrowing func rowsByTable() -> [Int: [[UInt8]: [UInt8]]] {
        var tables: [Int: [[UInt8]: [UInt8]]] = [:]
        for entry in entries {
            let end = entry.keyStart + entry.keyCount
            tables[entry.table, default: [:]][Array(bytes[entry.keyStart..<end])] = Array(
                bytes[end..<end + entry.valueCount])
        }
        return tables
    }
}
