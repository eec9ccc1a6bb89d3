internal import Foundation

/// # Fetching branch pages ahead
///
/// A walk from branch to branch knows only the few pages that come next, so it waits for the disk a
/// hundred times, and each time for little. A disk answers thousands of requests together in hardly
/// more time than a few. So before a large file is walked, its branch pages are asked for a level of
/// all tables at a time: a tree of four levels costs three waits.
///
/// Nothing here is a check. What a damaged page says is asked for as far as it lies in the file, and
/// is looked at by the walk.
extension PageFile {
    /// Asks for all branch pages of the trees, and waits for all but the lowest of them.
    func prefetchBranches(of trees: [Tree], pageSizeBytes: Int) throws(LMDBError) {
        let filePages = UInt64(byteCount / pageSizeBytes)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: pageSizeBytes, alignment: 8)
        defer { buffer.deallocate() }
        var level: [BranchAhead] = []
        for tree in trees where tree.root < filePages && tree.depth <= PageWalk.depthMax {
            if tree.depth > 1 { level.append(BranchAhead(page: tree.root, levels: tree.depth - 1)) }
        }
        // A sound file has no more of them than pages; one whose pages lead in circles ends here, too.
        var rest = Int(clamping: filePages)
        while !level.isEmpty, level.count <= rest {
            rest -= level.count
            // In the order in which they lie, which is what disks like best.
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

/// A branch page that is asked for.
private struct BranchAhead {
    var page: UInt64
    /// How many levels of branch pages there are from this one on.
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
