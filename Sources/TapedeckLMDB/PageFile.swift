internal import Foundation

/// An LMDB file read page by page with `pread`, so that invalid contents cannot crash the program.
///
/// The data format is that of LMDB 0.9 (version 1) on 64-bit little-endian machines. Opening and
/// closing this file does not affect LMDB's locks, because LMDB keeps them on its lock file.
final class PageFile: Sendable {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let version: UInt32 = 1
    static let headerCount = 16
    static let metaCount = headerCount + 136
    static let pageSizes = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768]

    /// The kinds of pages.
    enum Flags {
        static let branch: UInt16 = 0x01
        static let leaf: UInt16 = 0x02
        static let overflow: UInt16 = 0x04
        static let meta: UInt16 = 0x08
    }

    let path: String
    let byteCount: Int
    private let file: Int32

    init(_ path: String) throws(LMDBError) {
        let opened = open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw LMDBError(errno, path: path) }
        var facts = stat()
        guard fstat(opened, &facts) == 0 else {
            let number = errno
            _ = close(opened)
            throw LMDBError(number, path: path)
        }
        file = opened
        byteCount = Int(facts.st_size)
        self.path = path
    }

    deinit { _ = close(file) }

    /// Fills `buffer` from `offset` and returns the number of bytes read.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LMDBError) -> Int {
        var count = 0
        while count < buffer.count {
            let read = pread(
                file, buffer.baseAddress.map { $0 + count }, buffer.count - count,
                off_t(offset + count))
            if read < 0 {
                if errno == EINTR { continue }
                throw LMDBError(errno, path: path)
            }
            if read == 0 { break }
            count += read
        }
        return count
    }

    /// Asks the system to prefetch bytes; has an effect only on Linux.
    func prefetch(at offset: Int, count: Int) {
        #if os(Linux)
            _ = posix_fadvise(file, off_t(offset), off_t(count), POSIX_FADV_WILLNEED)
        #endif
    }

    /// The maximum number of times that meta pages are read while commits change them.
    private static let readingsMax = 1_000

    /// Reads both meta pages as of the same instant.
    ///
    /// If a commit came between two separate reads, the pages would contradict each other. The
    /// offset of the second meta page is the page size, which the first one contains.
    func metas() throws(LMDBError) -> [Result<Meta, PageProblem>] {
        try PageCheck.settled(readingsMax: PageFile.readingsMax) {
            () throws(LMDBError) -> [Result<Meta, PageProblem>] in
            try readMetas()
        }
    }

    private func readMetas() throws(LMDBError) -> [Result<Meta, PageProblem>] {
        var found: [Result<Meta, PageProblem>] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: PageFile.metaCount, alignment: 8)
        defer { buffer.deallocate() }
        var offset = 0
        for page in UInt64(0)...1 {
            let count = try read(buffer, at: offset)
            guard count == PageFile.metaCount else {
                return found + [
                    .failure(
                        PageProblem(
                            page: page, what: "the file ends before the end of the meta page"))
                ]
            }
            let meta = Meta.read(UnsafeRawBufferPointer(buffer), page: page)
            found.append(meta)
            guard case .success(let read) = meta else { return found }
            offset = read.pageSizeBytes
        }
        return found
    }

    /// The contents of a meta page, with the tree roots of one commit.
    struct Meta: Equatable {
        var pageSizeBytes: Int
        var lastPage: UInt64
        var transaction: UInt64
        var free: Tree
        var main: Tree

        /// Returns whether bytes are the beginning of a meta page.
        static func isMeta(_ bytes: UnsafeRawBufferPointer, page: UInt64) -> Bool {
            bytes.count >= 20
                && bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == PageFile.magic
                && bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self) == Flags.meta
                && bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self) == page
        }

        static func read(
            _ bytes: UnsafeRawBufferPointer, page: UInt64
        ) -> Result<Meta, PageProblem> {
            func problem(_ what: String) -> Result<Meta, PageProblem> {
                .failure(PageProblem(page: page, what: what))
            }
            guard isMeta(bytes, page: page) else {
                return problem("it is not an LMDB meta page")
            }
            let version = bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
            guard version == PageFile.version else {
                return problem(
                    "it has LMDB data format \(version); this program supports \(PageFile.version)"
                )
            }
            let free = Tree(bytes, at: 40)
            guard PageFile.pageSizes.contains(Int(free.pad)) else {
                return problem("its page size of \(free.pad) bytes is invalid")
            }
            return .success(
                Meta(
                    pageSizeBytes: Int(free.pad),
                    lastPage: bytes.loadUnaligned(fromByteOffset: 136, as: UInt64.self),
                    transaction: bytes.loadUnaligned(fromByteOffset: 144, as: UInt64.self),
                    free: free, main: Tree(bytes, at: 88)))
        }
    }

    /// The root of a table, with the expected numbers of its pages and entries.
    struct Tree: Equatable {
        static let byteCount = 48
        static let noRoot = UInt64.max
        static let integerKeys: UInt16 = 0x08

        var pad: UInt32
        var flags: UInt16
        var depth: UInt16
        var branchPages: UInt64
        var leafPages: UInt64
        var overflowPages: UInt64
        var entries: UInt64
        var root: UInt64

        init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
            pad = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            flags = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt16.self)
            depth = bytes.loadUnaligned(fromByteOffset: offset + 6, as: UInt16.self)
            branchPages = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
            leafPages = bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self)
            overflowPages = bytes.loadUnaligned(fromByteOffset: offset + 24, as: UInt64.self)
            entries = bytes.loadUnaligned(fromByteOffset: offset + 32, as: UInt64.self)
            root = bytes.loadUnaligned(fromByteOffset: offset + 40, as: UInt64.self)
        }

        var hasIntegerKeys: Bool { flags & Tree.integerKeys != 0 }
    }
}

/// A problem found in a page.
package struct PageProblem: Error, Hashable, Sendable {
    package let page: UInt64
    package let what: String

    package init(page: UInt64, what: String) {
        self.page = page
        self.what = what
    }
}
