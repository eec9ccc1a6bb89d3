internal import Foundation
internal import Synchronization

/// Walks all trees of an LMDB file once; see `PageCheck`.
///
/// The amount of work is limited for any file, because each page is entered at most once and trees
/// have at most `depthMax` levels.
final class PageWalk {
    /// The maximum depth of a tree, which is LMDB's own limit for cursors.
    static let depthMax: UInt16 = 32
    static let keyCountMax = 511
    /// LMDB's flag MDB_NOSUBDIR.
    private static let noSubdirectory: UInt16 = 0x4000
    /// The maximum number of pages that may be missing at the end of the file because a commit
    /// allocated and freed them without writing them.
    static let unwrittenPagesMax: UInt64 = 1 << 20

    /// The maximum size of leaves that follow each other in the file and are read at once.
    static let runBytesMax = 256 << 10

    /// The maximum number of threads that walk a file.
    static let threadsMax = 4

    private enum NodeFlags {
        static let bigData: UInt16 = 1
        static let subData: UInt16 = 2
    }

    private let file: PageFile
    private let meta: PageFile.Meta
    private let readsLeaves: Bool
    private let pageSize: Int
    private let filePages: UInt64
    private var report: PageCheck.Report
    /// A bit for each page, which is set if the page was reached or is free.
    private var reached: [UInt64] = []
    private var buffers: [UnsafeMutableRawBufferPointer] = []
    /// The leaves whose contents are in `leafBuffer`.
    private var leavesRead: Range<UInt64> = 0..<0
    private let leafBuffer: UnsafeMutableRawBufferPointer

    init(
        _ file: PageFile, _ meta: PageFile.Meta, _ report: PageCheck.Report,
        readsLeaves: Bool
    ) {
        pageSize = meta.pageSizeBytes
        filePages = UInt64(file.byteCount / meta.pageSizeBytes)
        self.file = file
        self.meta = meta
        self.report = report
        self.readsLeaves = readsLeaves
        leafBuffer = .allocate(byteCount: max(PageWalk.runBytesMax, pageSize), alignment: 8)
    }

    deinit {
        for buffer in buffers { buffer.deallocate() }
        leafBuffer.deallocate()
    }

    func run() throws(LMDBError) -> PageCheck.Report {
        guard meta.lastPage >= 1, meta.lastPage < filePages + PageWalk.unwrittenPagesMax else {
            report.add(
                0,
                "the meta page states \(meta.lastPage) pages, but the file has \(filePages): it was"
                    + " truncated, or the count is damaged")
            return report
        }
        reached = noneReached
        mark(0)
        mark(1)
        let tables = try walk(meta.main, "the list of tables", .tables).tables
        if try !walkConcurrently(tables) {
            try file.prefetchBranches(of: tables.map(\.tree), pageSizeBytes: pageSize)
            for (name, tree) in tables { _ = try walk(tree, "table \(name)", .table) }
        }
        report.usedPages = report.usedPages &+ 2
        try file.prefetchBranches(of: [meta.free], pageSizeBytes: pageSize)
        _ = try walk(meta.free, "the free list", .free)
        if readsLeaves, filePages <= meta.lastPage {
            for page in filePages...meta.lastPage where !isReached(page) {
                report.add(
                    page, "the file ends before this page, which was truncated or never written")
                return report
            }
        }
        return report
    }

    // MARK: - Trees

    private enum Kind { case tables, table, free }

    /// The actual contents of a tree.
    private struct Tally {
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
        var tables: [(name: String, tree: PageFile.Tree)] = []
    }

    /// Walks the tables of a large file on several threads, the largest tables first.
    ///
    /// Returns false if there is a problem, or if the file is small. All tables must then be walked
    /// again in order, so that the report does not depend on the threads.
    private func walkConcurrently(
        _ tables: [(name: String, tree: PageFile.Tree)]
    ) throws(LMDBError) -> Bool {
        guard report.problemCount == 0, file.byteCount > PageCheck.quickBytesMax else {
            return false
        }
        let tables = tables.sorted { $0.tree.leafPages > $1.tree.leafPages }
        let count = min(
            ProcessInfo.processInfo.activeProcessorCount, PageWalk.threadsMax, tables.count)
        guard count > 1 else { return false }
        // Each thread uses only its own walk.
        nonisolated(unsafe) let parts = (0..<count).map { _ in
            PageWalk(file, meta, PageCheck.Report(), readsLeaves: readsLeaves)
        }
        let next = Atomic(0)
        let failure = Mutex<LMDBError?>(nil)
        DispatchQueue.concurrentPerform(iterations: count) { index in
            let part = parts[index]
            part.reached = part.noneReached
            do throws(LMDBError) {
                while part.report.problemCount == 0 {
                    let place = next.add(1, ordering: .relaxed).oldValue
                    guard place < tables.count else { return }
                    let (name, tree) = tables[place]
                    try part.file.prefetchBranches(of: [tree], pageSizeBytes: part.pageSize)
                    _ = try part.walk(tree, "table \(name)", .table)
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        return unite(parts)
    }

    /// Adds the pages that other walks have reached; returns false if one of them found a problem,
    /// or if a page was reached twice.
    private func unite(_ parts: [PageWalk]) -> Bool {
        var united = reached
        for part in parts {
            guard part.report.problemCount == 0 else { return false }
            for (index, word) in part.reached.enumerated() {
                guard united[index] & word == 0 else { return false }
                united[index] |= word
            }
        }
        reached = united
        for part in parts { report.usedPages += part.report.usedPages }
        return true
    }

    private struct Context {
        var tree: PageFile.Tree
        var name: String
        var kind: Kind
        var readsLeaves: Bool
    }

    private func walk(
        _ tree: PageFile.Tree, _ name: String, _ kind: Kind
    ) throws(LMDBError) -> Tally {
        var tally = Tally()
        let isKnown =
            switch kind {
            case .tables: tree.flags == 0
            case .table: tree.flags == 0 || tree.flags == PageFile.Tree.integerKeys
            // LMDB stores the flags of the entire file here; our files set only `MDB_NOSUBDIR`.
            case .free: tree.flags & ~PageWalk.noSubdirectory == PageFile.Tree.integerKeys
            }
        guard isKnown else {
            report.add(0, "\(name) has unexpected flags \(tree.flags)")
            return tally
        }
        guard tree.root != PageFile.Tree.noRoot else {
            if tree.depth != 0 {
                report.add(0, "\(name) has a depth of \(tree.depth), but no pages")
            }
            compare(tree, tally, name, at: 0)
            return tally
        }
        guard (1...PageWalk.depthMax).contains(tree.depth) else {
            report.add(
                0,
                "\(name) has page \(tree.root) as its root, but an invalid depth of \(tree.depth)")
            return tally
        }
        let context = Context(
            tree: tree, name: name, kind: kind, readsLeaves: readsLeaves || kind != .table)
        try enter(tree.root, from: 0, level: 1, lower: nil, upper: nil, context, &tally)
        if report.problemCount == 0, context.readsLeaves {
            compare(tree, tally, name, at: tree.root)
        }
        return tally
    }

    /// Reports the counts in a tree's root that differ from the tree's contents.
    private func compare(_ tree: PageFile.Tree, _ tally: Tally, _ name: String, at page: UInt64) {
        let counts = [
            ("entries", tree.entries, tally.entries),
            ("branch pages", tree.branchPages, tally.branchPages),
            ("leaf pages", tree.leafPages, tally.leafPages),
            ("overflow pages", tree.overflowPages, tally.overflowPages),
        ]
        for (what, stated, found) in counts where stated != found {
            report.add(page, "\(name) should have \(stated) \(what), but has \(found)")
        }
    }

    private func enter(
        _ page: UInt64, from parent: UInt64, level: UInt16, lower: [UInt8]?, upper: [UInt8]?,
        _ context: Context, _ tally: inout Tally
    ) throws(LMDBError) {
        guard claim(page, 1, from: parent, context.name) else { return }
        report.usedPages += 1
        let isLeaf = level == context.tree.depth
        if isLeaf, !context.readsLeaves {
            tally.leafPages += 1
            return
        }
        guard let bytes = try read(page, level) else { return }
        let flags = bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
        guard bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self) == page else {
            return report.add(page, "it contains another page's number (\(context.name))")
        }
        guard flags == (isLeaf ? PageFile.Flags.leaf : PageFile.Flags.branch) else {
            return report.add(
                page,
                "it should be a \(isLeaf ? "leaf" : "branch") of \(context.name); its flags"
                    + " are \(flags)")
        }
        guard let nodes = nodes(bytes, page, isLeaf, lower, upper, context) else { return }
        if isLeaf {
            tally.leafPages += 1
            tally.entries += UInt64(nodes.count)
            for node in nodes { try data(of: node, bytes, page, context, &tally) }
        } else {
            tally.branchPages += 1
            if level + 1 == context.tree.depth, !context.readsLeaves {
                tally.leafPages += claimLeaves(nodes, from: page, context.name)
                return
            }
            var runs = level + 1 == context.tree.depth ? leafRuns(nodes)[...] : []
            // Request all leaves below the branch at once; `prefetchBranches` has already requested
            // the branch pages.
            for run in runs {
                file.prefetch(at: Int(run.lowerBound) * pageSize, count: run.count * pageSize)
            }
            var lower = lower
            for (index, node) in nodes.enumerated() {
                if let run = runs.first, run.lowerBound == node.child {
                    runs.removeFirst()
                    try read(run)
                }
                let next = index + 1 < nodes.count ? key(nodes[index + 1], bytes) : nil
                try enter(
                    node.child, from: page, level: level + 1, lower: lower, upper: next ?? upper,
                    context, &tally)
                lower = next
            }
        }
    }

    /// Returns the leaves below a branch in key order, as ranges of pages to read at once.
    ///
    /// A rebuild writes most leaves one after another, so a range usually contains many leaves.
    private func leafRuns(_ nodes: [Node]) -> [Range<UInt64>] {
        let countMax = leafBuffer.count / pageSize
        var runs: [Range<UInt64>] = []
        for node in nodes where node.child < filePages {
            if let last = runs.last, last.upperBound == node.child, last.count < countMax {
                runs[runs.count - 1] = last.lowerBound..<node.child + 1
            } else {
                runs.append(node.child..<node.child + 1)
            }
        }
        return runs
    }

    // MARK: - Entries of a page

    private struct Node {
        var offset: Int
        var keyCount: Int
        var flags: UInt16
        var dataCount: Int
        var dataOffset: Int { offset + 8 + keyCount }
        /// The page that an entry of a branch page refers to.
        var child: UInt64
    }

    /// Reads and checks the entries of a page; returns nil if one of them is invalid.
    private func nodes(
        _ bytes: UnsafeRawBufferPointer, _ page: UInt64, _ isLeaf: Bool, _ lower: [UInt8]?,
        _ upper: [UInt8]?, _ context: Context
    ) -> [Node]? {
        func load(_ offset: Int) -> Int {
            Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        }
        func problem(_ what: String) -> [Node]? {
            report.add(page, "\(what) (\(context.name))")
            return nil
        }
        let end = load(12)
        let start = load(14)
        guard end >= PageFile.headerCount, end % 2 == 0, end <= start, start <= pageSize else {
            return problem("its bounds are invalid")
        }
        let count = (end - PageFile.headerCount) / 2
        guard count >= (isLeaf || context.kind == .free ? 1 : 2) else {
            return problem("it has \(count) entries")
        }
        var nodes: [Node] = []
        nodes.reserveCapacity(count)
        var total = 0
        for index in 0..<count {
            let offset = load(PageFile.headerCount + 2 * index)
            guard offset >= start, offset % 2 == 0, offset + 8 <= pageSize else {
                return problem("entry \(index) is outside the page")
            }
            let low = load(offset) | load(offset + 2) << 16
            let flags = UInt16(truncatingIfNeeded: load(offset + 4))
            var node = Node(
                offset: offset, keyCount: load(offset + 6), flags: flags, dataCount: low,
                child: UInt64(low) | UInt64(flags) << 32)
            if !isLeaf { node.dataCount = 0 }
            let held = isLeaf && flags & NodeFlags.bigData != 0 ? 8 : node.dataCount
            let size = 8 + node.keyCount + held
            guard node.keyCount <= PageWalk.keyCountMax, offset + size <= pageSize else {
                return problem("entry \(index) extends beyond the page")
            }
            let isImplied = !isLeaf && index == 0
            if !isImplied {
                guard node.keyCount > 0, !context.tree.hasIntegerKeys || node.keyCount == 8 else {
                    return problem("entry \(index) has a key of \(node.keyCount) bytes")
                }
            }
            total += size + size % 2
            nodes.append(node)
        }
        guard total <= pageSize - start else { return problem("its entries overlap") }
        let first = isLeaf ? 0 : 1
        for index in first..<count {
            let current = UnsafeRawBufferPointer(
                rebasing: bytes[nodes[index].offset + 8..<nodes[index].dataOffset])
            if index > first {
                let before = UnsafeRawBufferPointer(
                    rebasing: bytes[nodes[index - 1].offset + 8..<nodes[index - 1].dataOffset])
                guard precedes(before, current, context) else {
                    return problem("entry \(index) does not sort after the entry before it")
                }
            }
            if index == first, let lower {
                let isBelow = lower.withUnsafeBytes { precedes(current, $0, context) }
                guard !isBelow else { return problem("it has entries below its branch's key") }
            }
            if index == count - 1, let upper {
                let isBelow = upper.withUnsafeBytes { precedes(current, $0, context) }
                guard isBelow else { return problem("it has entries that belong to the next page") }
            }
        }
        return nodes
    }

    private func precedes(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ context: Context
    ) -> Bool {
        if context.tree.hasIntegerKeys, left.count == 8, right.count == 8 {
            return left.loadUnaligned(as: UInt64.self) < right.loadUnaligned(as: UInt64.self)
        }
        let common = min(left.count, right.count)
        if common > 0, let a = left.baseAddress, let b = right.baseAddress {
            let order = memcmp(a, b, common)
            if order != 0 { return order < 0 }
        }
        return left.count < right.count
    }

    private func key(_ node: Node, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        Array(bytes[node.offset + 8..<node.dataOffset])
    }

    // MARK: - Contents of an entry

    private func data(
        of node: Node, _ bytes: UnsafeRawBufferPointer, _ page: UInt64, _ context: Context,
        _ tally: inout Tally
    ) throws(LMDBError) {
        switch (node.flags, context.kind) {
        case (0, .table):
            return
        case (0, .free):
            let list = UnsafeRawBufferPointer(
                rebasing: bytes[node.dataOffset..<node.dataOffset + node.dataCount])
            free(list, page)
        case (NodeFlags.subData, .tables):
            guard node.dataCount == PageFile.Tree.byteCount else {
                return report.add(page, "the root of a table is \(node.dataCount) bytes long")
            }
            tally.tables.append(
                (
                    String(decoding: key(node, bytes), as: UTF8.self),
                    PageFile.Tree(bytes, at: node.dataOffset)
                ))
        case (NodeFlags.bigData, .table), (NodeFlags.bigData, .free):
            let first = bytes.loadUnaligned(fromByteOffset: node.dataOffset, as: UInt64.self)
            try overflow(first, node.dataCount, page, context, &tally)
        default:
            report.add(page, "an entry in \(context.name) has flags \(node.flags)")
        }
    }

    private func overflow(
        _ first: UInt64, _ dataCount: Int, _ page: UInt64, _ context: Context,
        _ tally: inout Tally
    ) throws(LMDBError) {
        let needed = UInt64((PageFile.headerCount - 1 + dataCount) / pageSize + 1)
        guard claim(first, needed, from: page, context.name) else { return }
        let header = UnsafeMutableRawBufferPointer.allocate(
            byteCount: PageFile.headerCount, alignment: 8)
        defer { header.deallocate() }
        guard try file.read(header, at: Int(first) * pageSize) == header.count,
            header.loadUnaligned(fromByteOffset: 0, as: UInt64.self) == first,
            header.loadUnaligned(fromByteOffset: 10, as: UInt16.self) == PageFile.Flags.overflow
        else {
            return report.add(
                first, "it should be the first page of a long value of \(context.name)")
        }
        // A value that replaced a longer one may still occupy all pages of the longer value.
        let count = UInt64(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        guard count >= needed else {
            return report.add(first, "it states \(count) pages, but its value needs \(needed)")
        }
        if count > needed {
            guard claim(first + needed, count - needed, from: page, context.name) else { return }
        }
        report.usedPages += count
        tally.overflowPages += count
        guard context.kind == .free else { return }
        let list = UnsafeMutableRawBufferPointer.allocate(byteCount: dataCount, alignment: 8)
        defer { list.deallocate() }
        let start = Int(first) * pageSize + PageFile.headerCount
        guard try file.read(list, at: start) == dataCount else {
            return report.add(first, "the file ends within the free list")
        }
        free(UnsafeRawBufferPointer(list), first)
    }

    /// Reads an entry of the free list: a count, followed by page numbers in descending order.
    private func free(_ list: UnsafeRawBufferPointer, _ page: UInt64) {
        func word(_ index: Int) -> UInt64 {
            list.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        }
        guard list.count >= 8, word(0) <= UInt64(list.count / 8 - 1) else {
            return report.add(
                page, "the page count in an entry of the free list exceeds the size of the entry")
        }
        var former = UInt64.max
        for index in 0..<Int(word(0)) {
            let number = word(index + 1)
            guard number >= 2, number <= meta.lastPage, number < former else {
                return report.add(page, "the free list contains the invalid page number \(number)")
            }
            guard !isReached(number) else {
                return report.add(number, "it is both in use and in the free list")
            }
            mark(number)
            report.freePages += 1
            former = number
        }
    }

    // MARK: - Pages

    private var noneReached: [UInt64] {
        [UInt64](repeating: 0, count: Int(meta.lastPage / 64) + 1)
    }

    private func isReached(_ page: UInt64) -> Bool {
        reached[Int(page / 64)] & (1 << (page % 64)) != 0
    }

    private func mark(_ page: UInt64) { reached[Int(page / 64)] |= 1 << (page % 64) }

    /// Claims `count` pages from `first` for one tree; returns false if a page is invalid or
    /// already claimed.
    private func claim(
        _ first: UInt64, _ count: UInt64, from parent: UInt64, _ name: String
    ) -> Bool {
        let end = first.addingReportingOverflow(count)
        guard first >= 2, !end.overflow, end.partialValue <= min(meta.lastPage + 1, filePages)
        else {
            report.add(parent, "it refers to page \(first), which is outside the file (\(name))")
            return false
        }
        for page in first..<end.partialValue {
            guard !isReached(page) else {
                report.add(page, "it is referenced twice (\(name))")
                return false
            }
            mark(page)
        }
        return true
    }

    /// Marks the leaves below a branch as reached without reading them, and returns the number of
    /// leaves marked.
    ///
    /// Most pages of a large file are leaves, so this method claims many pages at once.
    private func claimLeaves(_ nodes: [Node], from parent: UInt64, _ name: String) -> UInt64 {
        let end = min(meta.lastPage + 1, filePages)
        let taken = reached.withUnsafeMutableBufferPointer { reached in
            var taken = 0
            for node in nodes {
                let (word, bit) = (Int(node.child / 64), UInt64(1) << (node.child % 64))
                guard node.child >= 2, node.child < end, reached[word] & bit == 0 else { break }
                reached[word] |= bit
                taken += 1
            }
            return taken
        }
        var count = UInt64(taken)
        for node in nodes[taken...] where claim(node.child, 1, from: parent, name) { count += 1 }
        report.usedPages += count
        return count
    }

    /// Reads consecutive pages into `leafBuffer`.
    private func read(_ pages: Range<UInt64>) throws(LMDBError) {
        let buffer = UnsafeMutableRawBufferPointer(
            rebasing: leafBuffer[..<(pages.count * pageSize)])
        let count = try file.read(buffer, at: Int(pages.lowerBound) * pageSize)
        leavesRead = pages.prefix(count / pageSize)
    }

    /// Returns the contents of a page, which is read into the buffer of its level unless it is in
    /// `leafBuffer`.
    private func read(_ page: UInt64, _ level: UInt16) throws(LMDBError) -> UnsafeRawBufferPointer?
    {
        if leavesRead.contains(page) {
            let start = Int(page - leavesRead.lowerBound) * pageSize
            return UnsafeRawBufferPointer(rebasing: leafBuffer[start..<start + pageSize])
        }
        while buffers.count < Int(level) {
            buffers.append(.allocate(byteCount: pageSize, alignment: 8))
        }
        let buffer = buffers[Int(level) - 1]
        guard try file.read(buffer, at: Int(page) * pageSize) == pageSize else {
            report.add(page, "the file ends within this page")
            return nil
        }
        return UnsafeRawBufferPointer(buffer)
    }
}
