internal import Foundation
internal import TapedeckLMDB

/// The views files that this process has open.
///
/// LMDB breaks when one file is opened twice in a process: closing one drops the locks of both. So
/// runners that serve projections from one file share its environment, and the last one closes it.
final class OpenViews: @unchecked Sendable {
    static let shared = OpenViews()

    /// Which file: another one may come to stand at the same path.
    struct Place: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    private struct Entry {
        let environment: Environment
        var users: Int
        var isClosing = false
    }

    // Guarded by `condition`.
    private var entries: [Place: Entry] = [:]
    private let condition = NSCondition()

    /// The environment of a file, opened by `make` unless it is open already.
    func open(
        _ path: String, _ make: () throws -> Environment
    ) throws -> (environment: Environment, place: Place) {
        condition.lock()
        defer { condition.unlock() }
        while let place = OpenViews.place(path), let entry = entries[place] {
            if !entry.isClosing {
                entries[place]?.users += 1
                return (entry.environment, place)
            }
            condition.wait()
        }
        let environment = try make()
        guard let place = OpenViews.place(path) else {
            environment.close()
            throw LMDBError(.notFound, path: path, detail: "it was removed while it was opened")
        }
        entries[place] = Entry(environment: environment, users: 1)
        return (environment, place)
    }

    /// Closes a file when its last user closes it; waits for the transactions in it to end.
    func close(_ place: Place) {
        condition.lock()
        entries[place]?.users -= 1
        guard let entry = entries[place], entry.users == 0 else {
            condition.unlock()
            return
        }
        entries[place]?.isClosing = true
        condition.unlock()
        entry.environment.close()
        condition.lock()
        entries[place] = nil
        condition.broadcast()
        condition.unlock()
    }

    /// Whether this or another process has a file open.
    func isOpen(_ path: String) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if let place = OpenViews.place(path), entries[place] != nil { return true }
        // Only where this process has not: closing any descriptor of the lock file would drop its locks.
        let file = Foundation.open(path + "-lock", O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { _ = Foundation.close(file) }
        // LMDB holds a shared lock on the first byte for as long as a process has the file open.
        var held = flock()
        held.l_type = Int16(F_WRLCK)
        held.l_whence = Int16(SEEK_SET)
        held.l_len = 1
        guard fcntl(file, F_GETLK, &held) == 0 else { return true }
        return held.l_type != Int16(F_UNLCK)
    }

    private static func place(_ path: String) -> Place? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        return Place(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
    }
}
