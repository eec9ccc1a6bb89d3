internal import CLMDB
internal import Foundation

/// # Walking leaf pages
///
/// A cursor costs a call and a handful of checks for each entry. Whoever reads a table of integer keys
/// from front to back can do with one look-up a page and read the page itself: its layout is part of
/// LMDB's data format (version 1, since 2011) and is checked here before it is believed.
///
/// Page: number (8 bytes), padding (2), flags (2), lower (2), upper (2), then the offsets of the nodes
/// (2 each). Leaf node: data size (low 2 bytes, high 2 bytes), flags (2), key size (2), key, data; with
/// flag 1 the data is the number of the first overflow page.
///
/// Only pages of a read transaction are walked so: those of a write transaction may lie elsewhere.
package struct LeafMap {
    private let base: UnsafeRawPointer
    private let pageSize: Int
    private let pageCount: UInt64

    private static let headerCount = 16
    private static let leafFlag: UInt16 = 0x02
    private static let overflowFlag: UInt16 = 0x04
    private static let bigDataFlag: UInt16 = 0x01

    /// Finds the map by a pointer into one of its leaf pages; nil where the file's pages are of another
    /// size than the system's, so that their beginnings cannot be told from a pointer.
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
        pointer - Int(bitPattern: pointer) % pageSize
    }

    /// The entry whose node lies at `place`, as `walk` told it; nil where no node of an integer key is.
    ///
    /// A place holds in later transactions as long as its page is neither written nor freed.
    @inline(__always)
    package func entry(at place: Int) -> (key: UInt64, value: UnsafeRawBufferPointer)? {
        let inPage = place % pageSize
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

    /// Asks the processor to fetch what lies at `place`.
    @inline(__always)
    package func prefetch(_ place: Int) {
        guard place > 0, place < Int(pageCount) * pageSize else { return }
        tapedeck_prefetch(base + place, 192)
    }

    /// How many entries of a table of integer keys may share the last page, which alone is written.
    package var entriesPerPageMax: UInt64 { UInt64(pageSize / 18) }

    /// Calls `body` with the entries of the page on which `key` lies, from that key on; says the last
    /// key, or nil where the page is not what a leaf of integer keys looks like.
    @inline(__always)
    func forEach(
        from key: UnsafeRawPointer, through last: UInt64,
        _ body: (UInt64, UnsafeRawBufferPointer, Int) throws -> Void
    ) rethrows -> UInt64? {
        let page = LeafMap.page(of: key, pageSize)
        let lower = Int(page.load(fromByteOffset: 12, as: UInt16.self))
        guard page.load(fromByteOffset: 10, as: UInt16.self) == LeafMap.leafFlag,
            lower >= LeafMap.headerCount, lower <= pageSize
        else { return nil }
        // A log is written in order, so the next leaf is most often the next page but one or two.
        tapedeck_prefetch(page + pageSize, pageSize)
        let nodes = (lower - LeafMap.headerCount) / 2
        let first = Int(key - page) - 8
        var reached: UInt64?
        for index in 0..<nodes {
            let node = Int(
                page.load(fromByteOffset: LeafMap.headerCount + index * 2, as: UInt16.self))
            if reached == nil, node != first { continue }
            guard node >= lower, node + 16 <= pageSize else { return nil }
            let count =
                Int(page.loadUnaligned(fromByteOffset: node, as: UInt16.self))
                | Int(page.loadUnaligned(fromByteOffset: node + 2, as: UInt16.self)) << 16
            let flags = page.loadUnaligned(fromByteOffset: node + 4, as: UInt16.self)
            guard page.loadUnaligned(fromByteOffset: node + 6, as: UInt16.self) == 8 else {
                return nil
            }
            let number = page.loadUnaligned(fromByteOffset: node + 8, as: UInt64.self)
            if number > last { return reached }
            if flags == 0 {
                guard node + 16 + count <= pageSize else { return nil }
                try body(
                    number, UnsafeRawBufferPointer(start: page + node + 16, count: count),
                    page - base + node)
            } else {
                guard let value = overflow(page + node + 16, flags, count) else { return nil }
                try body(number, value, 0)
            }
            reached = number
        }
        return reached
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
    /// The map as this transaction sees it; nil where pages cannot be walked, or the table is empty.
    package func leafMap(_ table: Table) throws(LMDBError) -> LeafMap? {
        guard let first = try cursor(table).first(), let key = first.key.baseAddress else {
            return nil
        }
        return LeafMap(key, in: handle)
    }

    /// Calls `body` with every entry of a table of integer keys in (`after`, `through`], in order;
    /// says the last key.
    ///
    /// The third argument is the entry's place (`LeafMap.entry`), or 0 for a large one.
    package func walk(
        _ table: Table, _ map: LeafMap, after: UInt64, through: UInt64,
        _ body: (UInt64, UnsafeRawBufferPointer, Int) throws -> Void
    ) throws -> UInt64 {
        let cursor = try cursor(table)
        var reached = after
        while reached < through, let entry = try cursor.seek(integer: reached + 1) {
            let key = entry.key.loadUnaligned(as: UInt64.self)
            guard key <= through, let place = entry.key.baseAddress else { break }
            guard let last = try map.forEach(from: place, through: through, body) else {
                throw LMDBError(
                    .damaged, path: path, detail: "the page that holds entry \(key) makes no sense")
            }
            reached = last
        }
        return reached
    }
}
