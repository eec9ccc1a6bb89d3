/// Checks the structure of an LMDB file without using LMDB.
///
/// LMDB does not validate its file, so an invalid page number or offset crashes the process.
/// `Environment` therefore checks every file before LMDB maps it, and `verify` checks the entire
/// file.
///
/// A file is sound if:
/// 1. Page numbers are within the file, and no page is referenced twice by the trees and the free
///    list.
/// 2. Every page contains its own number, has the expected kind, and has no entries that extend
///    beyond it.
/// 3. Keys ascend within each page and stay within the bounds set by the pages above.
/// 4. The numbers of pages and entries in each table match the numbers in the table's root.
/// 5. The two meta pages belong to consecutive commits.
///
/// If other processes write to the file, the result is reliable only while a read transaction of
/// this process pins the pages. Without such a transaction, a problem is meaningful only if there
/// was no commit during the check.
package enum PageCheck {
    package enum Extent: Sendable {
        /// Checks all pages.
        case everything
        /// Checks all pages of a small file, but only branch pages of a large one.
        case quick
    }

    package struct Report: Sendable {
        /// The first problems, at most `problemsMax`.
        package internal(set) var problems: [PageProblem] = []
        package internal(set) var problemCount = 0
        package internal(set) var pageSizeBytes = 0
        /// The number of pages in use.
        package internal(set) var usedPages: UInt64 = 0
        /// The number of pages in the free list.
        package internal(set) var freePages: UInt64 = 0
        /// The number of the checked commit.
        package internal(set) var transaction: UInt64 = 0
        /// Whether commits kept changing the file during the check, so that the problems found are
        /// meaningless.
        package internal(set) var wasOvertaken = false

        package var isSound: Bool { problemCount == 0 || wasOvertaken }

        mutating func add(_ page: UInt64, _ what: String) {
            problemCount += 1
            if problems.count < PageCheck.problemsMax {
                problems.append(PageProblem(page: page, what: what))
            }
        }
    }

    /// The maximum number of problems in a report.
    package static let problemsMax = 100

    /// The file size in bytes up to which `.quick` also reads the leaves, which takes at most 50
    /// ms.
    static let quickBytesMax = 128 << 20

    /// The maximum number of attempts if commits interfere.
    private static let attemptsMax = 5

    /// Checks the file at `path`.
    ///
    /// - Parameter isPinned: Whether the caller holds a read transaction on the file.
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

    /// Returns whether a file that begins with these bytes is an LMDB file.
    package static func isStart(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { PageFile.Meta.isMeta($0, page: 0) }
    }

    /// Reads values until two consecutive reads are equal, and returns the result of the last one.
    ///
    /// A value must never return to an earlier state. Two equal reads therefore prove that no value
    /// changed between them, so all values were current at the same instant.
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

    /// Returns the commit number of each meta page.
    private static func commits(_ metas: [Result<PageFile.Meta, PageProblem>]) -> [UInt64?] {
        metas.map { try? $0.get().transaction }
    }

    private static func newest(
        _ metas: [Result<PageFile.Meta, PageProblem>]
    ) -> PageFile.Meta? {
        metas.compactMap { try? $0.get() }.max { $0.transaction < $1.transaction }
    }

    /// Compares the meta pages, and returns a description of the problem, or nil if there is none.
    ///
    /// Commits alternate between the two pages; even-numbered commits write the first one. Any
    /// other pair of commit numbers means that one page is damaged, and LMDB would silently fall
    /// back to the previous commit.
    private static func compare(_ first: PageFile.Meta, _ second: PageFile.Meta) -> String? {
        if first.pageSizeBytes != second.pageSizeBytes {
            return "its page size differs from the one in page 0"
        }
        let (even, odd) = (first.transaction, second.transaction)
        let isNew = even == 0 && odd == 0
        let areNeighbours = even % 2 == 0 && odd % 2 == 1 && (even &- odd == 1 || odd &- even == 1)
        if isNew || areNeighbours { return nil }
        return "it belongs to commit \(odd) and page 0 to commit \(even), which LMDB never writes"
    }

    private static func look(
        _ path: String, _ extent: Extent
    ) throws(LMDBError) -> (Report, commits: [UInt64?]) {
        // Read the meta pages first, then the file's length. A commit between the two reads can
        // make the file longer than the meta pages say, but never shorter.
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
