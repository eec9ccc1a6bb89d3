/// Looks at the structure of an LMDB file without letting LMDB touch it.
///
/// LMDB trusts its file: a page number or an offset that makes no sense takes the process with it.
/// So every file is looked at before LMDB maps it (`Environment`), and `verify` looks at all of it.
///
/// 1. Page numbers lie inside the file, and no page is reached twice, by trees or by the free list.
/// 2. Every page says its own number, is of the kind its place asks for, and keeps its entries inside.
/// 3. Keys ascend, within a page and between what the pages above say.
/// 4. Tables have the pages and entries that their roots count.
/// 5. The two meta pages are of neighbouring commits.
///
/// It holds for a file that others write to only while a read transaction of this process pins the
/// pages; without, a problem counts only if no commit came in between.
package enum PageCheck {
    package enum Extent: Sendable {
        /// All pages.
        case everything
        /// All pages of a small file; the pages that lead to others in a large one.
        case quick
    }

    package struct Report: Sendable {
        /// The first `problemsMax`.
        package internal(set) var problems: [PageProblem] = []
        package internal(set) var problemCount = 0
        package internal(set) var pageSizeBytes = 0
        /// Pages that the trees reach.
        package internal(set) var usedPages: UInt64 = 0
        /// Pages that the free list holds.
        package internal(set) var freePages: UInt64 = 0
        /// Which commit was looked at.
        package internal(set) var transaction: UInt64 = 0
        /// Others committed faster than the file could be read, so the problems say nothing.
        package internal(set) var wasOvertaken = false

        package var isSound: Bool { problemCount == 0 || wasOvertaken }

        mutating func add(_ page: UInt64, _ what: String) {
            problemCount += 1
            if problems.count < PageCheck.problemsMax {
                problems.append(PageProblem(page: page, what: what))
            }
        }
    }

    /// The most problems that are listed.
    package static let problemsMax = 100

    /// `.quick` reads the leaves, too, of files up to this size: 50 ms at the most.
    static let quickBytesMax = 128 << 20

    /// How often a check is repeated that a commit has overtaken.
    private static let attemptsMax = 5

    /// Checks the file at `path`.
    ///
    /// - Parameter isPinned: whether the caller holds a read transaction of the file.
    package static func run(
        _ path: String, extent: Extent = .everything, isPinned: Bool = false
    ) throws(LMDBError) -> Report {
        var report = Report()
        for _ in 0..<attemptsMax {
            let (current, before) = try look(path, extent)
            report = current
            if report.problemCount == 0 || isPinned { return report }
            guard try commits(PageFile(path).metas()) != before else { return report }
        }
        report.wasOvertaken = true
        return report
    }

    /// Reads values until two readings in a row are the same, and returns the last reading.
    ///
    /// A value that never comes twice was then the same from the first of the two readings to the second, so that all
    /// of them were there at one instant.
    package static func settled<Value: Equatable, Failure: Error>(
        readingsMax: Int, _ read: () throws(LMDBError) -> [Result<Value, Failure>]
    ) throws(LMDBError) -> [Result<Value, Failure>] {
        var last = try read()
        for _ in 1..<readingsMax {
            let again = try read()
            if again.map({ try? $0.get() }) == last.map({ try? $0.get() }) { return again }
            last = again
        }
        return last
    }

    /// Of which commit each meta page is.
    private static func commits(_ metas: [Result<PageFile.Meta, PageProblem>]) -> [UInt64?] {
        metas.map { try? $0.get().transaction }
    }

    private static func newest(
        _ metas: [Result<PageFile.Meta, PageProblem>]
    ) -> PageFile.Meta? {
        metas.compactMap { try? $0.get() }.max { $0.transaction < $1.transaction }
    }

    /// Two neighbouring commits write the meta pages in turn, even ones the first.
    ///
    /// Otherwise one of them is damaged, and the file would fall back by a commit without a word.
    private static func compare(_ first: PageFile.Meta, _ second: PageFile.Meta) -> String? {
        if first.pageSizeBytes != second.pageSizeBytes {
            return "it counts other bytes to a page than page 0"
        }
        let (even, odd) = (first.transaction, second.transaction)
        let isNew = even == 0 && odd == 0
        let areNeighbours = even % 2 == 0 && odd % 2 == 1 && (even &- odd == 1 || odd &- even == 1)
        if isNew || areNeighbours { return nil }
        return "it is of commit \(odd), page 0 is of commit \(even)"
    }

    private static func look(
        _ path: String, _ extent: Extent
    ) throws(LMDBError) -> (Report, commits: [UInt64?]) {
        // The length is asked after the meta pages were read: a commit in between makes the file longer
        // than they say, and never shorter.
        let metas = try PageFile(path).metas()
        let file = try PageFile(path)
        var report = Report()
        for case .failure(let problem) in metas { report.add(problem.page, problem.what) }
        guard report.problemCount == 0, let meta = newest(metas) else {
            return (report, commits(metas))
        }
        if case .success(let first) = metas[0], case .success(let second) = metas[1],
            let problem = compare(first, second)
        {
            report.add(1, problem)
            return (report, commits(metas))
        }
        report.pageSizeBytes = meta.pageSizeBytes
        report.transaction = meta.transaction
        let isWhole =
            meta.lastPage < UInt64(file.byteCount / meta.pageSizeBytes)
        let readsLeaves =
            extent == .everything || !isWhole || file.byteCount <= quickBytesMax
        let walk = PageWalk(file, meta, report, readsLeaves: readsLeaves)
        return (try walk.run(), commits(metas))
    }
}
