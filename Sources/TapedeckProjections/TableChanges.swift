internal import TapedeckLMDB
internal import TapedeckModel

/// The changes to a table: entries to remove, then entries to write.
///
/// One thread fills an object and then passes it on; two threads never use it at the same time.
final class TableChanges: @unchecked Sendable {
    /// The initial capacity in bytes; it is small because most batches have few events.
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

    /// Sorts the changes by key, so that neighbouring entries are written one after another.
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

/// The changes that a batch makes to the tables of one projection.
final class ProjectionChanges: Sendable {
    let states = TableChanges()
    let items = TableChanges()
    let rows = TableChanges()
    let extra = TableChanges()
}
