internal import Foundation

/// The right to change which runs the index consists of: one holder among all threads and processes.
///
/// Without it, one merge would take another's unfinished run for the leavings of a crash. It is an
/// advisory lock on a file of its own, so the system lets go of it when its holder dies; LMDB's
/// writer lock is too short, since a merge takes many transactions.
struct IndexLock: ~Copyable {
    private let file: Int32

    /// Waits for the lock, or gives nil if somebody has it and `waits` is false.
    init?(_ path: String, waits: Bool) throws(LogError) {
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw LogError.system(errno, path) }
        while flock(opened, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            if number == EINTR { continue }
            _ = close(opened)
            if number == EWOULDBLOCK { return nil }
            throw LogError.system(number, path)
        }
        file = opened
    }

    // To close is not enough: a program that is being started holds a copy of the descriptor for a moment.
    deinit {
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }
}
