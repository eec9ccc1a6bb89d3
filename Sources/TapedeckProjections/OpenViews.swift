internal import Foundation
internal import TapedeckLMDB

/// The views files that this process has open.
///
/// A process must not open an LMDB file twice, because closing one of the two environments drops
/// the locks of both. Runners that use the same file therefore share its environment, and the last
/// runner closes it.
final class OpenViews: @unchecked Sendable {
    static let shared = OpenViews()

    private struct Entry {
        let environment: Environment
        var users: Int
        var isClosing = false
    }

    // Guarded by `condition`.
    private var entries: [FileIdentity: Entry] = [:]
    private let condition = NSCondition()

    /// Returns the environment of a file, which `make` opens unless it is already open.
    func open(
        _ path: String, _ make: () throws -> Environment
    ) throws -> (environment: Environment, identity: FileIdentity) {
        condition.lock()
        defer { condition.unlock() }
        while let identity = FileIdentity(at: path), let entry = entries[identity] {
            if !entry.isClosing {
                entries[identity]?.users += 1
                return (entry.environment, identity)
            }
            condition.wait()
        }
        let environment = try make()
        guard let identity = FileIdentity(at: path) else {
            environment.close()
            throw LMDBError(.notFound, path: path, detail: "it was removed while being opened")
        }
        entries[identity] = Entry(environment: environment, users: 1)
        return (environment, identity)
    }

    /// Releases a file; the last user closes the file after its transactions have ended.
    func close(_ identity: FileIdentity) {
        condition.lock()
        entries[identity]?.users -= 1
        guard let entry = entries[identity], entry.users == 0 else {
            condition.unlock()
            return
        }
        entries[identity]?.isClosing = true
        condition.unlock()
        entry.environment.close()
        condition.lock()
        entries[identity] = nil
        condition.broadcast()
        condition.unlock()
    }

    /// Returns whether this or another process has a file open.
    func isOpen(_ path: String) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if let identity = FileIdentity(at: path), entries[identity] != nil { return true }
        // Closing any descriptor of the lock file drops all of this process's locks on it, so open
        // it only if this process does not have the views file open.
        let file = Foundation.open(Environment.lockFile(of: path), O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { _ = Foundation.close(file) }
        // While a process has the file open, LMDB holds a shared lock on the first byte of the lock
        // file.
        var held = flock()
        held.l_type = Int16(F_WRLCK)
        held.l_whence = Int16(SEEK_SET)
        held.l_len = 1
        guard fcntl(file, F_GETLK, &held) == 0 else { return true }
        return held.l_type != Int16(F_UNLCK)
    }
}
