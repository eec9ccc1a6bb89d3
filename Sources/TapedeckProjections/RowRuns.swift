internal import Foundation
internal import TapedeckModel

/// A sequence of rows, each stored as key length (2 bytes), value length (4 bytes), key and value.
///
/// A batch manages its own memory, which avoids the overhead of an array: adding a row copies at
/// most three ranges of bytes. One thread fills a batch and then passes it on; two threads never
/// use it at once.
final class RowBatch: @unchecked Sendable {
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private var end = 0
    private(set) var count = 0

    static let headerCount = 6

    init(capacity: Int = 4_096) {
        self.capacity = capacity
        start = RowBatch.required(malloc(capacity))
    }

    deinit { free(start) }

    /// The bytes of the rows, valid until the next `add`.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: end) }

    @inline(__always)
    func add(
        _ key: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer? = nil,
        value: UnsafeRawBufferPointer
    ) {
        let keyCount = key.count + (suffix?.count ?? 0)
        let needed = end + RowBatch.headerCount + keyCount + value.count
        if needed > capacity { grow(to: needed) }
        var place = start + end
        place.storeBytes(of: UInt16(keyCount), as: UInt16.self)
        place.storeBytes(of: UInt32(value.count), toByteOffset: 2, as: UInt32.self)
        place += RowBatch.headerCount
        RowBatch.copy(key, to: &place)
        if let suffix { RowBatch.copy(suffix, to: &place) }
        RowBatch.copy(value, to: &place)
        end = needed
        count += 1
    }

    @inline(__always)
    private static func copy(
        _ part: UnsafeRawBufferPointer, to place: inout UnsafeMutableRawPointer
    ) {
        guard let base = part.baseAddress else { return }
        place.copyMemory(from: base, byteCount: part.count)
        place += part.count
    }

    private func grow(to needed: Int) {
        // The C library moves large blocks without copying them.
        capacity = max(needed, capacity * 2)
        start = RowBatch.required(realloc(start, capacity))
    }

    private static func required(_ block: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
        guard let block else { preconditionFailure("there is no memory left") }
        return block
    }

    /// Adds all rows of another batch.
    func add(contentsOf other: RowBatch) {
        let needed = end + other.end
        if needed > capacity { grow(to: needed) }
        start.advanced(by: end).copyMemory(from: other.start, byteCount: other.end)
        end = needed
        count += other.count
    }

    func removeAll() {
        end = 0
        count = 0
    }

    /// Returns the rows sorted by key.
    func sorted() -> RowBatch {
        guard count > 1 else { return self }
        var rows: [RowOrder.Place] = []
        rows.reserveCapacity(count)
        let all = bytes
        var walker = RowWalker(all)
        var start = 0
        while let (key, _) = walker.next() {
            rows.append(
                RowOrder.Place(
                    first: RowWalker.prefix(key), second: RowWalker.prefix(key, from: 8),
                    start: start))
            start = walker.offset
        }
        RowOrder.sort(&rows) { left, right in
            RowWalker.key(all, at: left.start).precedes(RowWalker.key(all, at: right.start))
        }
        let result = RowBatch(capacity: end)
        for row in rows {
            let start = row.start
            let rowEnd = RowWalker.end(all, at: start)
            result.start.advanced(by: result.end)
                .copyMemory(from: self.start + start, byteCount: rowEnd - start)
            result.end += rowEnd - start
        }
        result.count = count
        return result
    }
}

/// Sorts rows by the first 16 bytes of their keys, read as two numbers, which distinguish nearly
/// all rows.
enum RowOrder {
    struct Place {
        /// The first eight bytes of the key as a number; `second` contains the next eight.
        var first: UInt64
        var second: UInt64
        /// The offset of the row.
        var start: Int

        /// Returns the byte at an index, counted from the last byte.
        @inline(__always)
        func digit(_ number: Int) -> Int {
            let word = number < 8 ? second : first
            return Int(truncatingIfNeeded: word >> UInt64(number % 8 * 8) & 0xFF)
        }
    }

    private static let digits = 16
    private static let values = 256
    /// The maximum number of rows to sort by comparison.
    private static let comparedMax = 512

    /// - Parameter precedes: Compares complete keys.
    static func sort(_ rows: inout [Place], by precedes: (Place, Place) -> Bool) {
        func inOrder(_ left: Place, _ right: Place) -> Bool {
            if left.first != right.first { return left.first < right.first }
            if left.second != right.second { return left.second < right.second }
            return precedes(left, right)
        }
        guard rows.count > comparedMax else { return rows.sort(by: inOrder) }
        spread(&rows)
        var start = 0
        while start < rows.count {
            let row = rows[start]
            var end = start + 1
            while end < rows.count, rows[end].first == row.first, rows[end].second == row.second {
                end += 1
            }
            if end - start > 1 { rows[start..<end].sort(by: precedes) }
            start = end
        }
    }

    /// Sorts by one byte at a time, starting with the last byte; each pass is stable.
    private static func spread(_ rows: inout [Place]) {
        var counts = [Int](repeating: 0, count: digits * values)
        for row in rows {
            for digit in 0..<digits { counts[digit * values + row.digit(digit)] += 1 }
        }
        var from = rows
        for digit in 0..<digits {
            let part = digit * values..<(digit + 1) * values
            // Skip this byte if it is the same in all rows.
            if counts[part].contains(rows.count) { continue }
            var start = 0
            for index in part { (counts[index], start) = (start, start + counts[index]) }
            swap(&rows, &from)
            rows.withUnsafeMutableBufferPointer { rows in
                for row in from {
                    let place = part.lowerBound + row.digit(digit)
                    rows[counts[place]] = row
                    counts[place] += 1
                }
            }
        }
    }
}

/// Iterates over the rows of a batch.
struct RowWalker {
    private let all: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ all: UnsafeRawBufferPointer) { self.all = all }

    @inline(__always)
    mutating func next() -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        guard offset < all.count else { return nil }
        let keyCount = Int(all.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        let valueCount = Int(all.loadUnaligned(fromByteOffset: offset + 2, as: UInt32.self))
        let start = offset + 6
        offset = start + keyCount + valueCount
        return (
            UnsafeRawBufferPointer(rebasing: all[start..<start + keyCount]),
            UnsafeRawBufferPointer(rebasing: all[start + keyCount..<offset])
        )
    }

    static func key(_ all: UnsafeRawBufferPointer, at start: Int) -> UnsafeRawBufferPointer {
        let count = Int(all.loadUnaligned(fromByteOffset: start, as: UInt16.self))
        return UnsafeRawBufferPointer(rebasing: all[start + 6..<start + 6 + count])
    }

    static func end(_ all: UnsafeRawBufferPointer, at start: Int) -> Int {
        start + 6 + Int(all.loadUnaligned(fromByteOffset: start, as: UInt16.self))
            + Int(all.loadUnaligned(fromByteOffset: start + 2, as: UInt32.self))
    }

    /// Returns eight bytes of a key as a number, padded with zeros; the first eight decide most
    /// comparisons.
    @inline(__always)
    static func prefix(_ key: UnsafeRawBufferPointer, from start: Int = 0) -> UInt64 {
        if key.count >= start + 8 {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        }
        var value: UInt64 = 0
        for index in start..<start + 8 {
            value = value << 8 | (index < key.count ? UInt64(key[index]) : 0)
        }
        return value
    }
}

/// A collection of sorted runs of rows that are merged at the end; runs beyond a memory budget go
/// to a file.
final class RowRuns {
    private var inMemory: [RowBatch] = []
    private var inMemoryCount = 0
    private var inFile: [Range<Int>] = []
    private var file: SpillFile?
    private let path: String
    private let memoryCountMax: Int

    /// - Parameters:
    ///   - path: The path at which to create the file, if one is needed.
    ///   - memoryCountMax: The maximum number of bytes in memory.
    init(spillingTo path: String, memoryCountMax: Int) {
        self.path = path
        self.memoryCountMax = memoryCountMax
    }

    /// The number of bytes in the file.
    var spilledCount: Int { file?.byteCount ?? 0 }

    func add(_ batch: RowBatch) throws {
        guard batch.count > 0 else { return }
        inMemory.append(batch)
        inMemoryCount += batch.bytes.count
        guard inMemoryCount > memoryCountMax else { return }
        let file = try self.file ?? SpillFile(path)
        self.file = file
        for run in inMemory { inFile.append(try file.append(run.bytes)) }
        inMemory.removeAll()
        inMemoryCount = 0
    }

    /// Calls `body` with every row of all runs in key order, and removes the runs.
    func merge(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void) throws {
        let (file, runs) = (self.file, inMemory)
        self.file = nil
        inMemory.removeAll()
        defer { withExtendedLifetime((file, runs)) {} }
        var walkers: [RowWalker] = []
        if let file { walkers = try inFile.map { RowWalker(try file.bytes($0)) } }
        walkers += runs.map { RowWalker($0.bytes) }
        try RowRuns.merge(&walkers, body)
    }

    private struct Head {
        var prefix: UInt64
        var key: UnsafeRawBufferPointer
        var value: UnsafeRawBufferPointer
        var walker: Int
    }

    private static func merge(
        _ walkers: inout [RowWalker],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        func head(_ index: Int) -> Head? {
            guard let (key, value) = walkers[index].next() else { return nil }
            return Head(
                prefix: RowWalker.prefix(key), key: key, value: value, walker: index)
        }
        func precedes(_ left: Head, _ right: Head) -> Bool {
            left.prefix != right.prefix
                ? left.prefix < right.prefix : left.key.precedes(right.key)
        }
        var heap: [Head] = walkers.indices.compactMap(head).sorted(by: precedes)
        while let least = heap.first {
            try body(least.key, least.value)
            if let next = head(least.walker) {
                heap[0] = next
            } else {
                heap[0] = heap[heap.count - 1]
                heap.removeLast()
            }
            var parent = 0
            while true {
                var child = 2 * parent + 1
                guard child < heap.count else { break }
                if child + 1 < heap.count, precedes(heap[child + 1], heap[child]) { child += 1 }
                guard precedes(heap[child], heap[parent]) else { break }
                heap.swapAt(child, parent)
                parent = child
            }
        }
    }
}
