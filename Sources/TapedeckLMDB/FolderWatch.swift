internal import Foundation
internal import Synchronization

/// Repeats a check only if entries of a folder may have been added, removed or renamed.
///
/// Looking up a path before each commit would take a tenth of the time of the commit.
final class FolderWatch: Sendable {
    /// The maximum time, in nanoseconds, by which the recorded times of changes may be too early,
    /// because file systems record times in steps.
    private static let timeStep: Int64 = 100_000_000

    private let folder: Int32
    /// The time of the folder's last change before the check last succeeded; nil if the folder may
    /// have changed again without another time.
    private let checked = Mutex<Int64?>(nil)

    /// Watches the folder of some files; nil if one of them is a symbolic link, whose target may be in
    /// another folder.
    init?(of files: [String]) {
        for file in files {
            var facts = stat()
            guard lstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        }
        guard let first = files.first else { return nil }
        folder = open(PathParts.folder(of: first), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
    }

    deinit {
        if folder >= 0 { _ = close(folder) }
    }

    /// Returns true if the folder has not changed since `check` last returned true, and otherwise the
    /// result of `check`.
    func isUnchanged(or check: () -> Bool) -> Bool {
        // The time is read before the check, so a change during the check is not overlooked.
        var facts = stat()
        guard fstat(folder, &facts) == 0 else { return check() }
        #if canImport(Darwin)
            let time = FolderWatch.nanoseconds(facts.st_mtimespec)
        #else
            let time = FolderWatch.nanoseconds(facts.st_mtim)
        #endif
        if checked.withLock({ $0 == time }) { return true }
        guard check() else { return false }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let isOld = FolderWatch.nanoseconds(now) - time > FolderWatch.timeStep
        checked.withLock { $0 = isOld ? time : nil }
        return true
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
