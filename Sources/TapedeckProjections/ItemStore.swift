internal import Foundation

/// Stores the items of a key during a fold, either in memory, for rebuilds, or on top of LMDB.
package protocol ItemStore: AnyObject {
    /// Whether the key has or had items; if true, an in-key checkpoint would be incomplete.
    var isUsed: Bool { get }
    func get(_ name: [UInt8]) -> [UInt8]?
    func set(_ name: [UInt8], _ value: [UInt8])
    func remove(_ name: [UInt8])
    /// Removes all items.
    func clear()
    /// Returns the first item whose name begins with `prefix` and is not less than `start`.
    func first(_ prefix: [UInt8], from start: [UInt8]) -> (name: [UInt8], value: [UInt8])?
    /// Returns the last item whose name begins with `prefix`.
    func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])?
}

extension ItemStore {
    /// Returns the first item whose name begins with `prefix`.
    package func first(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        first(prefix, from: prefix)
    }
}

/// Items in memory, sorted by name.
///
/// One growing buffer holds names and values. The slots that point into the buffer are kept in
/// chunks, so inserting an item among a hundred thousand moves only a few dozen slots.
package final class MemoryItems: ItemStore {
    private struct Slot {
        /// The first eight bytes of the name as a number, which decides most comparisons.
        var prefix: UInt64
        var nameStart: Int
        var valueStart: Int
        var valueCount: Int32
        var nameCount: Int16
    }

    /// The number of slots above which a chunk is split in two.
    private static let chunkCountMax = 128

    @exclusivity(unchecked) private var bytes: [UInt8] = []
    @exclusivity(unchecked) private var chunks: [[Slot]] = []
    @exclusivity(unchecked) package private(set) var count = 0

    @exclusivity(unchecked) package private(set) var isUsed = false
    /// The last name that was looked up in vain, and its place; nil once the items have changed.
    ///
    /// A fold usually looks for an item before it sets it.
    @exclusivity(unchecked) private var missing: (name: [UInt8], chunk: Int, index: Int)?

    package init() {}

    /// Copies the items of another store; later changes to the copy do not affect the other store.
    init(copying other: MemoryItems) {
        (bytes, chunks) = (other.bytes, other.chunks)
        (count, isUsed) = (other.count, other.isUsed)
    }

    package func clear() { removeAll() }

    package func removeAll() {
        guard isUsed || count > 0 || !bytes.isEmpty else { return }
        bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 20)
        if chunks.count == 1 {
            chunks[0].removeAll(keepingCapacity: true)
        } else {
            chunks.removeAll()
        }
        count = 0
        isUsed = false
        missing = nil
    }

    /// Calls `body` with each item, in name order.
    package func forEach(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        try bytes.withUnsafeBytes { all in
            for chunk in chunks {
                for slot in chunk {
                    try body(
                        UnsafeRawBufferPointer(
                            rebasing: all[slot.nameStart..<slot.nameStart + Int(slot.nameCount)]),
                        UnsafeRawBufferPointer(
                            rebasing: all[slot.valueStart..<slot.valueStart + Int(slot.valueCount)])
                    )
                }
            }
        }
    }

    package func get(_ name: [UInt8]) -> [UInt8]? {
        let (chunk, index, found) = find(name)
        if found { return value(of: chunks[chunk][index]) }
        missing = (name, chunk, index)
        return nil
    }

    package func set(_ name: [UInt8], _ value: [UInt8]) {
        isUsed = true
        let (chunk, index, found) = place(of: name)
        missing = nil
        if found {
            var slot = chunks[chunk][index]
            let start = slot.valueStart
            if Int(slot.valueCount) >= value.count {
                bytes.withUnsafeMutableBytes { all in
                    UnsafeMutableRawBufferPointer(rebasing: all[start..<start + value.count])
                        .copyBytes(from: value)
                }
            } else {
                slot.valueStart = bytes.count
                bytes.append(contentsOf: value)
            }
            slot.valueCount = Int32(value.count)
            chunks[chunk][index] = slot
            return
        }
        let slot = Slot(
            prefix: name.withUnsafeBytes { RowWalker.prefix($0) }, nameStart: bytes.count,
            valueStart: bytes.count + name.count,
            valueCount: Int32(value.count), nameCount: Int16(name.count))
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        count += 1
        if chunks.isEmpty { chunks.append([]) }
        chunks[chunk].insert(slot, at: index)
        if chunks[chunk].count > MemoryItems.chunkCountMax {
            let half = Array(chunks[chunk][(MemoryItems.chunkCountMax / 2)...])
            chunks[chunk].removeLast(half.count)
            chunks.insert(half, at: chunk + 1)
        }
    }

    package func remove(_ name: [UInt8]) {
        let (chunk, index, found) = find(name)
        guard found else { return }
        missing = nil
        chunks[chunk].remove(at: index)
        if chunks[chunk].isEmpty, chunks.count > 1 { chunks.remove(at: chunk) }
        count -= 1
    }

    package func first(
        _ prefix: [UInt8], from start: [UInt8]
    ) -> (name: [UInt8], value: [UInt8])? {
        var (chunk, index, _) = find(start)
        if chunk < chunks.count, index == chunks[chunk].count {
            chunk += 1
            index = 0
        }
        guard chunk < chunks.count, index < chunks[chunk].count else { return nil }
        return entry(chunks[chunk][index], prefix: prefix)
    }

    package func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        // Find the position of the first name above all names with the prefix.
        var upper = prefix
        while let byte = upper.last, byte == .max { upper.removeLast() }
        var place = (chunk: chunks.count - 1, index: chunks.last?.count ?? 0)
        if let byte = upper.last {
            upper[upper.count - 1] = byte + 1
            let (chunk, index, _) = find(upper)
            place = (chunk, index)
        }
        if place.index == 0 {
            place.chunk -= 1
            guard place.chunk >= 0 else { return nil }
            place.index = chunks[place.chunk].count
        }
        guard place.chunk >= 0, place.index > 0 else { return nil }
        return entry(chunks[place.chunk][place.index - 1], prefix: prefix)
    }

    private func entry(_ slot: Slot, prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        let name = Array(bytes[slot.nameStart..<slot.nameStart + Int(slot.nameCount)])
        guard name.starts(with: prefix) else { return nil }
        return (name, value(of: slot))
    }

    private func value(of slot: Slot) -> [UInt8] {
        Array(bytes[slot.valueStart..<slot.valueStart + Int(slot.valueCount)])
    }

    private func place(of name: [UInt8]) -> (chunk: Int, index: Int, found: Bool) {
        guard let missing, missing.name == name else { return find(name) }
        return (missing.chunk, missing.index, false)
    }

    /// Returns the position of a name, or the position at which to insert it.
    private func find(_ name: [UInt8]) -> (chunk: Int, index: Int, found: Bool) {
        bytes.withUnsafeBytes { all in
            name.withUnsafeBytes { name in
                let prefix = RowWalker.prefix(name)
                // Find the last chunk that begins at or before the given name.
                var low = 0
                var high = chunks.count
                while high - low > 1 {
                    let middle = (low + high) / 2
                    if compare(chunks[middle][0], all, name, prefix) <= 0 {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                guard low < chunks.count else { return (0, 0, false) }
                let chunk = low
                low = 0
                high = chunks[chunk].count
                while low < high {
                    let middle = (low + high) / 2
                    let order = compare(chunks[chunk][middle], all, name, prefix)
                    if order == 0 { return (chunk, middle, true) }
                    if order < 0 { low = middle + 1 } else { high = middle }
                }
                return (chunk, low, false)
            }
        }
    }

    @inline(__always)
    private func compare(
        _ slot: Slot, _ all: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer,
        _ prefix: UInt64
    ) -> Int {
        if slot.prefix != prefix { return slot.prefix < prefix ? -1 : 1 }
        let count = Int(slot.nameCount)
        guard let left = all.baseAddress, let right = name.baseAddress else {
            return count - name.count
        }
        let order = memcmp(left + slot.nameStart, right, min(count, name.count))
        return order != 0 ? Int(order) : count - name.count
    }
}
