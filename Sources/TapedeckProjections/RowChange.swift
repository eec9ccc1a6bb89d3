internal import TapedeckModel

/// A change to a row of a table.
public enum RowChange: Hashable, Sendable {
    /// A row was inserted.
    case inserted(Row)
    /// A row was removed.
    case removed(key: [UInt8])
    /// The value of a row changed.
    case updated(Row)
    /// The key of a row changed, and possibly its value.
    case moved(from: [UInt8], to: Row)
}

/// The changes that one commit made to the rows of a table.
public enum RowChanges: Hashable, Sendable {
    /// The table must be read again, because the observer has just started or is too slow, or
    /// because the table was rebuilt.
    case reset
    /// The changes, in the order in which the keys were folded.
    case changes([RowChange])
}

/// The changed rows of one commit, as stored in the diff ring.
struct DiffBatch {
    struct Entry {
        var projection: UInt64
        var table: UInt8
        var change: RowChange
    }

    /// The maximum number of changes in a commit; a larger commit is stored as a reset.
    static let entriesMax = 2_048
    /// The table number for changed items; the row key is the item's key in the items table.
    static let itemsTable = 255
    /// The table number for changed states; the row key is the state's key in the states table, and
    /// the value is empty.
    static let statesTable = 254
    /// The number of commits kept for observers; an observer that has fallen further behind
    /// receives a reset.
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

    /// Compares the rows of a key before and after a fold, both sorted by table and key.
    ///
    /// - Parameter isFollowed: Whether to add the changes for observers.
    mutating func add(
        from old: borrowing RowSink, to new: borrowing RowSink, projection: Digest16,
        isFollowed: Bool, _ changes: TableChanges
    ) {
        var (left, right) = (0, 0)
        while left < old.entries.count || right < new.entries.count {
            let table = min(
                left < old.entries.count ? old.entries[left].table : .max,
                right < new.entries.count ? new.entries[right].table : .max)
            var difference = RowsOfTable()
            while true {
                let before = left < old.entries.count && old.entries[left].table == table
                let after = right < new.entries.count && new.entries[right].table == table
                guard before || after else { break }
                let order =
                    !after ? -1 : !before ? 1 : old.compare(left, with: new, right)
                if order <= 0 { left += 1 }
                if order >= 0 { right += 1 }
                if order < 0 { difference.removed.append(left - 1) }
                if order > 0 { difference.inserted.append(right - 1) }
                if order == 0, !old.hasSameValue(left - 1, as: new, right - 1) {
                    difference.updated.append(right - 1)
                }
            }
            withUnsafeBytes(of: UInt8(table)) { table in
                for index in difference.removed {
                    old.withRow(index) { key, _ in changes.remove(table, key) }
                }
                for index in difference.updated + difference.inserted {
                    new.withRow(index) { changes.put(table, $0, $1) }
                }
            }
            guard isFollowed, !isReset else { continue }
            for index in difference.updated {
                add(.updated(new.row(index)), projection: projection, table: table)
            }
            if difference.removed.count == 1, difference.inserted.count == 1 {
                let (from, to) = (difference.removed[0], difference.inserted[0])
                add(
                    .moved(from: old.row(from).key, to: new.row(to)), projection: projection,
                    table: table)
                continue
            }
            for index in difference.removed {
                add(.removed(key: old.row(index).key), projection: projection, table: table)
            }
            for index in difference.inserted {
                add(.inserted(new.row(index)), projection: projection, table: table)
            }
        }
    }

    /// Appends the changes of another batch, which must concern other keys.
    mutating func add(contentsOf other: DiffBatch) {
        guard !isReset else { return }
        guard !other.isReset, entries.count + other.entries.count <= DiffBatch.entriesMax else {
            isReset = true
            entries.removeAll()
            return
        }
        entries += other.entries
    }

    /// Adds a changed item.
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

    /// Adds a changed state.
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

/// The differences in one table, as indexes of entries in the old and new sinks.
private struct RowsOfTable {
    var removed: [Int] = []
    var updated: [Int] = []
    var inserted: [Int] = []
}

extension RowSink {
    fileprivate borrowing func withRow<R>(
        _ index: Int, _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> R
    ) -> R {
        let entry = entries[index]
        let end = entry.keyStart + entry.keyCount
        return bytes.withUnsafeBytes { bytes in
            body(
                UnsafeRawBufferPointer(rebasing: bytes[entry.keyStart..<end]),
                UnsafeRawBufferPointer(rebasing: bytes[end..<end + entry.valueCount]))
        }
    }

    fileprivate borrowing func row(_ index: Int) -> Row {
        withRow(index) { Row(key: Array($0), value: Array($1)) }
    }

    /// Compares the keys of two rows; returns a negative number if the key in this sink comes
    /// first.
    fileprivate borrowing func compare(
        _ index: Int, with other: borrowing RowSink, _ place: Int
    ) -> Int {
        withRow(index) { left, _ in
            other.withRow(place) { right, _ in
                left.precedes(right) ? -1 : right.precedes(left) ? 1 : 0
            }
        }
    }

    fileprivate borrowing func hasSameValue(
        _ index: Int, as other: borrowing RowSink, _ place: Int
    ) -> Bool {
        withRow(index) { _, left in other.withRow(place) { _, right in left.holdsSame(as: right) } }
    }
}
