internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog

/// A views file in the directory of a store.
public struct ViewsFileStatus: Sendable, Codable, Hashable {
    /// The name of the file.
    public var name: String
    /// The size of the file in bytes.
    public var bytes: UInt64
    /// The time at which a process last opened or closed the file, in milliseconds since 1970.
    public var usedAtMilliseconds: UInt64
    /// Whether the file contains a projection of this runner.
    public var isOwn: Bool
    /// Whether a process has the file open.
    public var isOpen: Bool
}

/// # Unused views files
///
/// A projection is identified by its fingerprint. Different versions of a program, and projections
/// with different parameters, therefore have their own tables, and no version removes the tables of
/// another. Unused tables remain until they are pruned. If a program needs pruned tables later, it
/// rebuilds them from the log.
extension ProjectionRunner {
    /// Returns the store's views files, including files of other programs, in the order of the
    /// numbers in their names.
    @available(*, noasync)
    public func viewsFiles() throws -> [ViewsFileStatus] {
        try checkOpen()
        return try ProjectionError.naming { try servingFiles().map(\.status) }
    }

    /// Removes files that contain no projection of this runner and that no process has open.
    ///
    /// - Returns: The removed files.
    ///
    /// Throws `ProjectionError` with `.busy` during a rebuild.
    @available(*, noasync)
    @discardableResult
    public func pruneViews() throws -> [ViewsFileStatus] {
        try checkOpen()
        return try ProjectionError.naming {
            let lock = try StoreLock.rebuild(log.directory, waits: false)
            defer { withExtendedLifetime(lock) {} }
            let unused = try servingFiles().filter { !$0.status.isOwn && !$0.status.isOpen }
            guard !unused.isEmpty else { return [] }
            // Remove the catalogue entries first, because every file in the catalogue must exist. A
            // process may open a file between the removal of its entry and the removal of the file
            // itself. Such a process keeps the file open, finds that the file is no longer listed,
            // and rebuilds its projections.
            try log.removeViews(ofFiles: Set(unused.map(\.number)))
            for file in unused { ProjectionRunner.unlinkViews(log.directory.views(file.number)) }
            return unused.map(\.status)
        }
    }

    private func servingFiles() throws -> [(number: UInt64, status: ViewsFileStatus)] {
        let own = Set(try drivers.compactMap { try log.viewsEntry($0.fingerprint)?.number })
        return try log.viewsNumbers().sorted().compactMap { number in
            let path = log.directory.views(number)
            var (facts, lock) = (stat(), stat())
            guard stat(path, &facts) == 0 else { return nil }
            let used = stat(Environment.lockFile(of: path), &lock) == 0 ? lock : facts
            return (
                number,
                ViewsFileStatus(
                    name: PathParts.name(of: path),
                    bytes: UInt64(max(0, facts.st_size)),
                    usedAtMilliseconds: ProjectionRunner.milliseconds(used),
                    isOwn: own.contains(number), isOpen: OpenViews.shared.isOpen(path))
            )
        }
    }

    private static func milliseconds(_ facts: stat) -> UInt64 {
        #if canImport(Darwin)
            let time = facts.st_mtimespec
        #else
            let time = facts.st_mtim
        #endif
        return UInt64(max(0, time.tv_sec)) * 1_000 + UInt64(max(0, time.tv_nsec)) / 1_000_000
    }
}
