internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog

/// A file of projections in a store's directory.
public struct ViewsFileStatus: Sendable, Codable, Hashable {
    /// The name of the file.
    public var name: String
    /// How long it is.
    public var bytes: UInt64
    /// When a process last opened or closed it, in Unix milliseconds.
    public var usedAtMilliseconds: UInt64
    /// Whether it serves a projection of this runner.
    public var isOwn: Bool
    /// Whether some process has it open.
    public var isOpen: Bool
}

/// # Files that nobody of this program uses
///
/// A projection is known by its fingerprint, so another version of a program, or another choice of a
/// projection's parameters, has tables of its own, and none of them takes away what another one uses.
/// What no program uses any more stays until somebody asks for its removal; whoever needs it after all
/// builds it again from the log.
extension ProjectionRunner {
    /// The files that serve projections, of this program or another, by their numbers.
    @available(*, noasync)
    public func viewsFiles() throws -> [ViewsFileStatus] {
        try checkOpen()
        return try ProjectionError.naming { try servingFiles().map(\.status) }
    }

    /// Removes the files that serve no projection of this runner and that no process has open.
    ///
    /// - Returns: the files that were removed.
    ///
    /// Throws `ProjectionError`: `.busy` where a rebuild is under way.
    @available(*, noasync)
    @discardableResult
    public func pruneViews() throws -> [ViewsFileStatus] {
        try checkOpen()
        return try ProjectionError.naming {
            let lock = try StoreLock.rebuild(log.directory, waits: false)
            defer { withExtendedLifetime(lock) {} }
            let unused = try servingFiles().filter { !$0.status.isOwn && !$0.status.isOpen }
            guard !unused.isEmpty else { return [] }
            // The catalogue first: a file that it names is there. A process that opens one in between
            // keeps what it has opened, finds that it serves nothing, and builds it again.
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
            let used = stat(path + "-lock", &lock) == 0 ? lock : facts
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
