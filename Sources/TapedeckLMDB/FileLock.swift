internal import Foundation
internal import Synchronization

/// A lock on a dedicated file, which works between processes and within a process.
///
/// The system releases the lock when its holder exits. A lock is valid only while its file is at
/// its path. A process removes the file only while it holds the lock exclusively. A process that
/// was waiting for the lock of a removed file starts again with the file that is now at the path.
package final class FileLock: Sendable {
    package enum Mode: Sendable {
        /// Several holders can share the lock.
        case shared
        case alone
    }

    /// The default maximum time to wait for a lock.
    package static let waitMax: Duration = .seconds(60)
    /// The longest pause between two attempts; the first pauses are shorter.
    private static let pauseMicrosecondsMax: useconds_t = 50_000
    private static let noteBytesMax = 64

    package let path: String
    /// The open file, which is writable if the lock is exclusive; closed when the lock is released.
    package let file: Int32
    private let mode: Mode
    private let isHeld = Atomic(true)
    private let hasNote = Atomic(false)

    private init(_ path: String, _ mode: Mode, _ file: Int32) {
        (self.path, self.mode, self.file) = (path, mode, file)
    }

    /// Acquires the lock without waiting; returns nil if it is held elsewhere.
    ///
    /// Throws `LMDBError`: `.notFound` (the directory does not exist or, without `creates`, the
    /// file does not exist), `.accessDenied`, `.readOnly`, `.damaged` (not a regular file).
    package static func take(
        _ path: String, _ mode: Mode, creates: Bool = true
    ) throws(LMDBError) -> FileLock? {
        try lock(path, mode, creates) { (file, operation) throws(LMDBError) in
            try hasLocked(file, operation | LOCK_NB, path)
        }
    }

    /// Waits for the lock without a time limit.
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

    /// Waits for the lock, but no longer than `limit`.
    ///
    /// - Parameter note: The activity of the new holder, such as "is restoring it". If a waiter
    ///   times out, its error includes this note.
    ///
    /// Throws `LMDBError`: the same errors as `take`, and `.busy` with the holder's activity.
    package static func wait(
        for path: String, _ mode: Mode, creates: Bool = true, atMost limit: Duration, note: String
    ) throws(LMDBError) -> FileLock {
        let end = ContinuousClock.now + limit
        var pause: useconds_t = 500
        let lock = try lock(path, mode, creates) { (file, operation) throws(LMDBError) in
            while try !hasLocked(file, operation | LOCK_NB, path) {
                // If the holder has removed the file, waiting for its lock is pointless.
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
                .busy, path: path, detail: holder(path) ?? "another process holds a lock on it")
        }
        if mode == .alone { lock.write("process \(getpid()) \(note)") }
        return lock
    }

    /// Opens the file and locks it; returns nil if `locks` returns false.
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
        // O_NONBLOCK avoids waiting if the path is a pipe.
        let flags = O_NONBLOCK | O_CLOEXEC | (mode == .alone ? O_RDWR : O_RDONLY)
        var file = Foundation.open(path, flags | (creates ? O_CREAT : 0), 0o600)
        var reason = errno
        if file < 0, creates, mode == .shared, [EACCES, EROFS].contains(reason) {
            file = Foundation.open(path, flags)
            // If the file does not exist, keep the error from the attempt to create it.
            if file < 0, errno != ENOENT { reason = errno }
        }
        guard file >= 0 else { throw LMDBError(reason, path: path) }
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            _ = close(file)
            throw LMDBError(.damaged, path: path, detail: "it is not a regular file")
        }
        return file
    }

    /// Returns whether the lock was acquired.
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

    /// Whether the file is still at its path; false once the directory was moved or replaced.
    package var isInPlace: Bool { FileLock.isAt(path, file) }

    /// Returns whether an open file is the file at a path.
    static func isAt(_ path: String, _ file: Int32) -> Bool {
        guard let opened = FileIdentity(of: file) else { return false }
        return opened == FileIdentity(at: path)
    }

    // MARK: - The holder

    private func write(_ note: String) {
        let bytes = Array(note.utf8.prefix(FileLock.noteBytesMax))
        hasNote.store(true, ordering: .releasing)
        // The note only improves an error message, so failures are ignored.
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
        // Ignore the note of a dead process, which may have been killed before it could remove the
        // note.
        guard let process = note.split(separator: " ").dropFirst().first.flatMap({ pid_t($0) }),
            kill(process, 0) == 0 || errno != ESRCH
        else { return nil }
        return note
    }

    // MARK: - Release

    /// Releases the lock, and removes its file if there is no other holder; waiting processes then
    /// start again with a new file.
    package func remove() {
        guard isHeld.load(ordering: .acquiring) else { return }
        if flock(file, LOCK_EX | LOCK_NB) == 0, FileLock.isAt(path, file) {
            unlink(path)
        }
        release()
    }

    /// Releases the lock; further calls do nothing.
    package func release() {
        guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
        if hasNote.load(ordering: .acquiring) { _ = ftruncate(file, 0) }
        // Unlock explicitly, because a child process that is being spawned briefly holds a copy of
        // the descriptor and would keep the lock.
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }

    deinit { release() }
}
