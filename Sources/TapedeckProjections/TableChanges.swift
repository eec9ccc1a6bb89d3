internal import TapedeckLMDB
internal import TapedeckModel

/// What is to become of a table: entries that are removed, then such that are put.
///
/// One thread fills it and then hands it on; it is never used by two at once.
final class TableChanges: @unchecked Sendable {
    /// Most batches are of few events.
    private static let bytesReserved = 256
    private var removals = RowBatch(capacity: 0)
    private var puts = RowBatch(capacity: bytesReserved)

    var isEmpty: Bool { puts.count + removals.count == 0 }

    @inline(__always)
    func put(
        _ key: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer? = nil,
        _ value: UnsafeRawBufferPointer
    ) {
        puts.add(key, suffix, value: value)
    }

    func put(_ key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { key in value.withUnsafeBytes { puts.add(key, value: $0) } }
    }

    @inline(__always)
    func remove(_ key: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer? = nil) {
        removals.add(key, suffix, value: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    func remove(_ key: [UInt8]) { key.withUnsafeBytes { remove($0) } }

    func add(contentsOf other: TableChanges) {
        puts.add(contentsOf: other.puts)
        removals.add(contentsOf: other.removals)
    }

    /// Puts both in the order of keys, so that neighbours are written one behind the other.
    func sort() {
        puts = puts.sorted()
        removals = removals.sorted()
    }

    func write(to table: Table, _ views: borrowing WriteTransaction) throws {
        guard !isEmpty else { return }
        let cursor = try views.cursor(table)
        var walker = RowWalker(removals.bytes)
        while let (key, _) = walker.next() { try cursor.delete(key) }
        walker = RowWalker(puts.bytes)
        while let (key, value) = walker.next() { try cursor.put(key, value) }
    }
}

/// What a batch changes of one projection's tables.
final class ProjectionChanges: Sendable {
    let states = TableChanges()
    let items = TableChanges()
    let rows = TableChanges()
    let extra = TableChanges()
}
