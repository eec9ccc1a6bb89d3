internal import Foundation
internal import Synchronization

/// A lock on a file of its own, among all processes and within each; the system lets go of it when its holder ends.
///
/// A lock counts only while the file is at its path: whoever removes the file holds it alone, and who waited for one that
/// was removed begins again with the file that is there now.
package final class FileLock: Sendable {
    package enum Mode: Sendable {
        /// Held together with others who share it.
        case shared
        case alone
    }

    /// How long `wait` waits where there is a limit.
    package static let waitMax: Duration = .seconds(60)
    /// Between two tries; the first ones come quicker.
    private static let pauseMicrosecondsMax: useconds_t = 50_000
    private static let noteBytesMax = 64

    package let path: String
    private let mode: Mode
    private let file: Int32
    private let isHeld = Atomic(true)
    private let hasNote = Atomic(false)

    private init(_ path: String, _ mode: Mode, _ file: Int32) {
        (self.path, self.mode, self.file) = (path, mode, file)
    }

    /// Takes the lock; nil where somebody has it.
    ///
    /// Throws `LMDBError`: `.notFound` (no such directory; without `creates` also no such file), `.accessDenied`,
    /// `.readOnly`, `.damaged` for what is no file.
    package static func take(
        _ path: String, _ mode: Mode, creates: Bool = true
    ) throws(LMDBError) -> FileLock? {
        try lock(path, mode, creates) { (file, operation) throws(LMDBError) in
            try hasLocked(file, operation | LOCK_NB, path)
        }
    }

    /// Waits for the lock, however long.
    package static func wait(
        for path: String, _ mode: Mode, creates: Bool = true
    ) throws(LMDBError) -> FileLock {
        while true {
            let lock = try lock(path, mode, creates) { (file, operation) throws(LMDBError) in
                try hasLocked(file, operation, path)
            }
            if let lock { return lock }
        }
    }

    /// Waits for the lock until `waitMax` is over.
    ///
    /// - Parameter note: what its holder does, for the error of those who wait in vain: "is restoring it".
    ///
    /// Throws `LMDBError`: what `take` throws; `.busy`, with what the holder does.
    package static func wait(
        for path: String, _ mode: Mode, creates: Bool = true, atMost limit: Duration, note: String
    ) throws(LMDBError) -> FileLock {
        let end = ContinuousClock.now + limit
        var pause: useconds_t = 500
        let lock = try lock(path, mode, creates) { (file, operation) throws(LMDBError) in
            while try !hasLocked(file, operation | LOCK_NB, path) {
                // Else its holder has removed it, and nobody else may have it any more.
                guard isAt(path, file), .now < end else { return false }
                usleep(pause)
                pause = min(pause * 2, pauseMicrosecondsMax)
            }
            return true
        }
        guard let lock else {
            if .now < end {
                return try wait(
                    for: path, mode, creates: creates, atMost: end - .now, note: note)
            }
            throw LMDBError(
                .busy, path: path, detail: holder(path) ?? "another process has a lock on it")
        }
        if mode == .alone { lock.write("process \(getpid()) \(note)") }
        return lock
    }

    /// Opens the file and locks it; nil where `locks` says that it cannot be had.
    private static func lock(
        _ path: String, _ mode: Mode, _ creates: Bool,
        _ locks: (Int32, Int32) throws(LMDBError) -> Bool
    ) throws(LMDBError) -> FileLock? {
        while true {
            let file = try open(path, mode, creates)
            do throws(LMDBError) {
                guard try locks(file, mode == .alone ? LOCK_EX : LOCK_SH) else {
                    _ = close(file)
                    return nil
                }
            } catch {
                _ = close(file)
                throw error
            }
            if isAt(path, file) { return FileLock(path, mode, file) }
            _ = close(file)
        }
    }

    private static func open(
        _ path: String, _ mode: Mode, _ creates: Bool
    ) throws(LMDBError) -> Int32 {
        // Without O_NONBLOCK a pipe would be waited for.
        let flags = O_NONBLOCK | O_CLOEXEC | (mode == .alone ? O_RDWR : O_RDONLY)
        var file = Foundation.open(path, flags | (creates ? O_CREAT : 0), 0o600)
        var reason = errno
        if file < 0, creates, mode == .shared, [EACCES, EROFS].contains(reason) {
            file = Foundation.open(path, flags)
            // That it is not there either does not say why it cannot be made.
            if file < 0, errno != ENOENT { reason = errno }
        }
        guard file >= 0 else { throw LMDBError(reason, path: path) }
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            _ = close(file)
            throw LMDBError(.damaged, path: path, detail: "it is not a file")
        }
        return file
    }

    /// Whether the lock could be had.
    private static func hasLocked(
        _ file: Int32, _ operation: Int32, _ path: String
    ) throws(LMDBError) -> Bool {
        while flock(file, operation) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw LMDBError(errno, path: path) }
            return false
        }
        return true
    }

    private static func isAt(_ path: String, _ file: Int32) -> Bool {
        var (named, opened) = (stat(), stat())
        return stat(path, &named) == 0 && fstat(file, &opened) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    // MARK: - Who has it

    private func write(_ note: String) {
        let bytes = Array(note.utf8.prefix(FileLock.noteBytesMax))
        hasNote.store(true, ordering: .releasing)
        // It only makes an error plainer, so it may fail.
        _ = ftruncate(file, 0)
        _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    private static func holder(_ path: String) -> String? {
        let file = Foundation.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { _ = close(file) }
        var bytes = [UInt8](repeating: 0, count: noteBytesMax)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let note = String(decoding: bytes.prefix(count), as: UTF8.self)
        // One that was killed has left its note behind.
        guard let process = note.split(separator: " ").dropFirst().first.flatMap({ pid_t($0) }),
            kill(process, 0) == 0 || errno != ESRCH
        else { return nil }
        return note
    }

    // MARK: - Letting go

    /// Lets go of the lock, and removes its file if nobody else has it; who waits for it begins again.
    package func remove() {
        guard isHeld.load(ordering: .acquiring) else { return }
        if flock(file, LOCK_EX | LOCK_NB) == 0, FileLock.isAt(path, file) {
            unlink(path)
        }
        release()
    }

    /// Lets go of the lock; once is enough.
    package func release() {
        guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
        if hasNote.load(ordering: .acquiring) { _ = ftruncate(file, 0) }
        // To close is not enough: a program that is being started has a copy of the descriptor for a moment.
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }

    deinit { release() }
}
