internal import CLMDB
internal import Foundation

/// # Walking leaf pages
///
/// A cursor costs a call and a few checks per entry. If leaf pages are parsed directly, reading a
/// table with integer keys in order needs only one lookup per page. The page layout is part of
/// LMDB's data format (version 1, since 2011), and is checked here before it is used.
///
/// Page: number (8 bytes), padding (2), flags (2), lower (2), upper (2), then the offsets of the
/// nodes (2 each). Leaf node: data size (low 2 bytes, high 2 bytes), flags (2), key size (2), key,
/// data. If flag 1 is set, the data is the number of the first overflow page.
///
/// Pages are walked in this way only in read transactions, because the pages of a write transaction
/// may be outside the map.
package struct LeafMap {
    private let base: UnsafeRawPointer
    private let pageSize: Int
    private let pageCount: UInt64

    private static let headerCount = 16
    private static let leafFlag: UInt16 = 0x02
    private static let overflowFlag: UInt16 = 0x04
    private static let bigDataFlag: UInt16 = 0x01
    /// The number of bytes of an entry to prefetch; most events are no longer than this.
    private static let fetchedCount = 320

    /// Locates the memory map, given a pointer into one of its leaf pages.
    ///
    /// Fails if the file's page size differs from the system's, because the start of a page then
    /// cannot be derived from a pointer into it.
    init?(_ key: UnsafeRawPointer, in transaction: OpaquePointer) {
        var stat = MDB_stat()
        var info = MDB_envinfo()
        let environment = mdb_txn_env(transaction)
        mdb_env_stat(environment, &stat)
        mdb_env_info(environment, &info)
        pageSize = Int(stat.ms_psize)
        guard pageSize == Int(getpagesize()) else { return nil }
        let page = LeafMap.page(of: key, pageSize)
        let number = page.load(as: UInt64.self)
        guard page.load(fromByteOffset: 10, as: UInt16.self) == LeafMap.leafFlag,
            number <= UInt64(info.me_last_pgno)
        else { return nil }
        base = page - Int(number) * pageSize
        pageCount = UInt64(info.me_last_pgno) + 1
    }

    private static func page(of pointer: UnsafeRawPointer, _ pageSize: Int) -> UnsafeRawPointer {
        pointer - (Int(bitPattern: pointer) & (pageSize - 1))
    }

    /// Returns the entry whose node is at `place`, as reported by `walk`; nil if no node with an
    /// integer key is there.
    ///
    /// A place stays valid in later transactions until its page is written or freed.
    @inline(__always)
    package func entry(at place: Int) -> (key: UInt64, value: UnsafeRawBufferPointer)? {
        // Page sizes are powers of two, so a mask gives the offset in the page.
        let inPage = place & (pageSize - 1)
        guard place > 0, place < Int(pageCount) * pageSize, inPage + 16 <= pageSize else {
            return nil
        }
        let node = base + place
        let count =
            Int(node.loadUnaligned(as: UInt16.self))
            | Int(node.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) << 16
        guard node.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == 0,
            node.loadUnaligned(fromByteOffset: 6, as: UInt16.self) == 8,
            inPage + 16 + count <= pageSize
        else { return nil }
        return (
            node.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            UnsafeRawBufferPointer(start: node + 16, count: count)
        )
    }

    /// Asks the processor to prefetch the entry at `place`.
    @inline(__always)
    package func prefetch(_ place: Int) {
        guard place > 0, place < Int(pageCount) * pageSize else { return }
        tapedeck_prefetch(base + place, LeafMap.fetchedCount)
    }

    /// The maximum number of entries with integer keys on a page.
    ///
    /// An append rewrites only the last page, which has at most this many entries; earlier entries
    /// stay in place.
    package var entriesPerPageMax: UInt64 { UInt64(pageSize / 18) }

    /// Lists the entries of the page that contains `key`, starting at that key.
    ///
    /// Returns the number of entries, and whether the part of the page that was read is a valid
    /// leaf with integer keys.
    func list(
        from key: UnsafeRawPointer, through last: UInt64, into entries: inout LeafEntries
    ) -> (count: Int, isSound: Bool) {
        let page = LeafMap.page(of: key, pageSize)
        let lower = Int(page.load(fromByteOffset: 12, as: UInt16.self))
        guard page.load(fromByteOffset: 10, as: UInt16.self) == LeafMap.leafFlag,
            lower >= LeafMap.headerCount, lower <= pageSize
        else { return (0, false) }
        let nodes = (lower - LeafMap.headerCount) / 2
        let first = Int(key - page) - 8
        var count = 0
        for index in 0..<nodes {
            let node = Int(
                page.load(fromByteOffset: LeafMap.headerCount + index * 2, as: UInt16.self))
            if count == 0, node != first { continue }
            guard node >= lower, node + 16 <= pageSize, count < entries.capacity else {
                return (count, false)
            }
            let size =
                Int(page.loadUnaligned(fromByteOffset: node, as: UInt16.self))
                | Int(page.loadUnaligned(fromByteOffset: node + 2, as: UInt16.self)) << 16
            let flags = page.loadUnaligned(fromByteOffset: node + 4, as: UInt16.self)
            guard page.loadUnaligned(fromByteOffset: node + 6, as: UInt16.self) == 8 else {
                return (count, false)
            }
            let number = page.loadUnaligned(fromByteOffset: node + 8, as: UInt64.self)
            if number > last { break }
            if flags == 0 {
                guard node + 16 + size <= pageSize else { return (count, false) }
                entries.start[count] = LeafEntry(
                    key: number,
                    value: UnsafeRawBufferPointer(start: page + node + 16, count: size),
                    place: page - base + node)
            } else {
                guard let value = overflow(page + node + 16, flags, size) else {
                    return (count, false)
                }
                entries.start[count] = LeafEntry(key: number, value: value, place: 0)
            }
            count += 1
        }
        return (count, true)
    }

    /// Prefetches the header of the page after the next one.
    ///
    /// A table written in order usually continues there. The reader prefetches the entries itself.
    @inline(__always)
    func prefetchHeader(behind key: UnsafeRawPointer) {
        let page = LeafMap.page(of: key, pageSize)
        tapedeck_prefetch(page + 2 * pageSize, 64)
    }

    /// Advises the system that the file will be read in order, or at random.
    fileprivate func advise(inOrder: Bool) {
        madvise(
            UnsafeMutableRawPointer(mutating: base), Int(pageCount) * pageSize,
            inOrder ? MADV_NORMAL : MADV_RANDOM)
    }

    private func overflow(
        _ place: UnsafeRawPointer, _ flags: UInt16, _ count: Int
    ) -> UnsafeRawBufferPointer? {
        let number = place.loadUnaligned(as: UInt64.self)
        guard flags == LeafMap.bigDataFlag, number < pageCount else { return nil }
        let page = base + Int(number) * pageSize
        guard page.load(fromByteOffset: 10, as: UInt16.self) == LeafMap.overflowFlag,
            Int(number) * pageSize + LeafMap.headerCount + count <= Int(pageCount) * pageSize
        else { return nil }
        return UnsafeRawBufferPointer(start: page + LeafMap.headerCount, count: count)
    }
}

extension ReadTransaction {
    /// Returns the map for this transaction; nil if pages cannot be walked, or the table is empty.
    package func leafMap(_ table: Table) throws(LMDBError) -> LeafMap? {
        guard let first = try cursor(table).first(), let key = first.key.baseAddress else {
            return nil
        }
        return LeafMap(key, in: handle)
    }

    /// Runs `body` with read-ahead, to read most of a file that is otherwise read at random.
    ///
    /// - Parameter table: Any table with entries; if the table is empty, `body` runs without
    ///   read-ahead.
    package func readingAhead<R>(_ table: Table, _ body: () throws -> R) throws -> R {
        guard let map = try leafMap(table) else { return try body() }
        map.advise(inOrder: true)
        defer { map.advise(inOrder: false) }
        return try body()
    }

    /// Calls `body` with the entries of a table with integer keys in (`after`, `through`], in
    /// order, one page at a time.
    ///
    /// Returns the last key. If a page is invalid, `body` first receives the entries before the
    /// invalid one, and then this method throws.
    package func walk(
        _ table: Table, _ map: LeafMap, after: UInt64, through: UInt64,
        _ body: (UnsafeBufferPointer<LeafEntry>) throws -> Void
    ) throws -> UInt64 {
        guard after < through else { return after }
        let cursor = try cursor(table)
        var entries = LeafEntries(capacity: Int(map.entriesPerPageMax))
        var reached = after
        var entry = try cursor.seek(integer: after + 1)
        while let found = entry {
            let key = found.key.loadUnaligned(as: UInt64.self)
            guard key <= through, let place = found.key.baseAddress else { break }
            map.prefetchHeader(behind: place)
            let (count, isSound) = map.list(from: place, through: through, into: &entries)
            if count > 0 {
                reached = entries.start[count - 1].key
                try body(UnsafeBufferPointer(start: entries.start, count: count))
            }
            guard isSound, count > 0 else {
                throw LMDBError(
                    .damaged, path: path, detail: "the page with entry \(key) is invalid")
            }
            guard reached < through else { break }
            // The cursor is already on this page, so LMDB finds its last entry, and then the next
            // page, without descending from the root.
            guard try cursor.seek(integer: reached) != nil else { break }
            entry = try cursor.next()
        }
        return reached
    }
}

/// An entry of a leaf page with integer keys, read in place.
package struct LeafEntry {
    package let key: UInt64
    package let value: UnsafeRawBufferPointer
    /// The place to pass to `LeafMap.entry`, or 0 for a large entry.
    package let place: Int
}

/// A buffer for the entries of one page.
struct LeafEntries: ~Copyable {
    let start: UnsafeMutablePointer<LeafEntry>
    let capacity: Int

    init(capacity: Int) {
        start = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit { start.deallocate() }
}
