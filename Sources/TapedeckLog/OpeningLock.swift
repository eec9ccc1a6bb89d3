internal import Foundation

/// Keeps the log's file in its place while somebody opens it: held, with others, by whoever does, and alone by
/// whoever puts another file there.
///
/// LMDB's own locks begin too late for that: who waits for them has opened the lock file of the former log.
struct OpeningLock: ~Copyable {
    private let file: Int32?

    /// Waits for the lock.
    init(_ place: StoreDirectory, alone: Bool) throws(LogError) {
        let path = place.openingLock
        var opened = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        if opened < 0, !alone { opened = open(path, O_RDONLY | O_CLOEXEC) }
        guard opened >= 0 else {
            guard !alone else { throw LogError.system(errno, path) }
            // Where no lock can be made, nobody can put another file, either.
            file = nil
            return
        }
        while flock(opened, alone ? LOCK_EX : LOCK_SH) != 0 {
            let number = errno
            if number == EINTR { continue }
            _ = close(opened)
            throw LogError.system(number, path)
        }
        file = opened
    }

    // To close is not enough: a program that is being started holds a copy of the descriptor for a moment.
    deinit {
        guard let file else { return }
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }
}
