internal import Foundation

/// A walk from branch to branch knows only the next few pages, so it would wait for about a hundred
/// small reads, one after another. A disk needs hardly more time for thousands of concurrent
/// requests than for a few. Before tables are walked, their branch pages are therefore requested one
/// level at a time, so that a tree with four levels costs only three waits.
///
/// This code does not check pages. Page numbers in a damaged page are followed if they are within
/// the file; the walk checks them later.
extension PageFile {
    /// Prefetches all branch pages of the trees, and waits for all but the lowest level.
    func prefetchBranches(of trees: [Tree], pageSizeBytes: Int) throws(LMDBError) {
        let filePages = UInt64(byteCount / pageSizeBytes)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: pageSizeBytes, alignment: 8)
        defer { buffer.deallocate() }
        var level: [BranchAhead] = []
        for tree in trees where tree.root < filePages && tree.depth <= PageWalk.depthMax {
            if tree.depth > 1 { level.append(BranchAhead(page: tree.root, levels: tree.depth - 1)) }
        }
        // The number of branch pages in a sound file cannot exceed its number of pages. The limit
        // also ends a walk through a cycle of pages.
        var rest = Int(clamping: filePages)
        while !level.isEmpty, level.count <= rest {
            rest -= level.count
            // Request the pages in file order, which is the fastest for disks.
            level.sort { $0.page < $1.page }
            for branch in level {
                prefetch(at: Int(branch.page) * pageSizeBytes, count: pageSizeBytes)
            }
            var below: [BranchAhead] = []
            for branch in level where branch.levels > 1 && below.count <= rest {
                guard try read(buffer, at: Int(branch.page) * pageSizeBytes) == buffer.count else {
                    continue
                }
                BranchAhead.forEachChild(of: UnsafeRawBufferPointer(buffer)) { child in
                    guard child < filePages else { return }
                    below.append(BranchAhead(page: child, levels: branch.levels - 1))
                }
            }
            level = below
        }
    }
}

/// A branch page to prefetch.
private struct BranchAhead {
    var page: UInt64
    /// The number of levels of branch pages, starting with this one.
    var levels: UInt16

    static func forEachChild(of page: UnsafeRawBufferPointer, _ body: (UInt64) -> Void) {
        func word(_ offset: Int) -> UInt64 {
            UInt64(page.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        }
        guard word(10) == PageFile.Flags.branch else { return }
        let end = min(Int(word(12)), page.count - 1)
        for place in stride(from: PageFile.headerCount, to: end, by: 2) {
            let node = Int(word(place))
            guard node + 6 <= page.count else { return }
            body(word(node) | word(node + 2) << 16 | word(node + 4) << 32)
        }
    }
}
