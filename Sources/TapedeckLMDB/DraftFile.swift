package import Foundation

/// A file that is written next to its target and replaces it completely or not at all.
///
/// A draft is named after its target: `TARGET.<16 hexadecimal digits>.tapedeck-part`. Its writer
/// holds a lock on the draft, which the system releases when the writer exits. The next draft of the
/// same target removes the drafts whose writers were killed, and leaves the drafts of living
/// writers, however old they are.
package final class DraftFile {
    /// The reason why a draft could not be written, as a system error number.
    package struct Failure: Error {
        package let number: Int32
    }

    /// The suffix of the names of all drafts.
    package static let suffix = ".tapedeck-part"
    private static let digits = 16

    /// The path of the draft.
    package let path: String
    /// The open file of the draft.
    package let file: Int32
    private let target: String
    private var isPlaced = false

    /// Starts a draft, and removes the abandoned drafts of the same target; the target itself is
    /// not touched before `place`.
    package init(of target: String) throws(Failure) {
        DraftFile.removeAbandoned(of: target)
        var draft: (path: String, file: Int32)
        repeat {
            let path = DraftFile.unusedPath(for: target)
            draft = (path, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
            guard draft.file >= 0 else { throw Failure(number: errno) }
            // Without a lock, another writer may consider the draft abandoned and remove it.
            if !DraftFile.isRemoved(draft.path, lockedAs: draft.file) { break }
            _ = close(draft.file)
        } while true
        self.target = target
        (path, file) = draft
    }

    deinit {
        // Remove the draft while it is locked, so that no other writer does the same.
        if !isPlaced { unlink(path) }
        _ = close(file)
    }

    /// Appends bytes to the draft.
    package func write(_ bytes: some ContiguousBytes) throws(Failure) {
        let failure = bytes.withUnsafeBytes { bytes -> Failure? in
            var written = 0
            while written < bytes.count {
                let count = Foundation.write(
                    file, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count < 0 {
                    if errno == EINTR { continue }
                    return Failure(number: errno)
                }
                written += count
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Syncs the draft to disk and moves it into place; the caller must sync the folder.
    ///
    /// - Parameter path: The path to move the draft to; nil for the target.
    package func place(at path: String? = nil) throws(Failure) {
        guard DraftFile.flush(file), rename(self.path, path ?? target) == 0 else {
            throw Failure(number: errno)
        }
        isPlaced = true
    }

    /// Syncs an open file to disk; returns false on failure.
    package static func flush(_ file: Int32) -> Bool {
        #if canImport(Darwin)
            // On Darwin, fsync stops at the drive's cache.
            return fcntl(file, F_FULLFSYNC) == 0 || fsync(file) == 0
        #else
            return fsync(file) == 0
        #endif
    }

    // MARK: - Names

    /// Returns an unused path for a draft.
    package static func unusedPath(for target: String) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        let zeros = String(repeating: "0", count: digits - number.count)
        return "\(target).\(zeros)\(number)\(suffix)"
    }

    /// Returns the name of the target of a draft; nil if the name is not the name of a draft.
    package static func targetName(ofDraft name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        let stem = name.utf8.dropLast(suffix.utf8.count)
        let number = stem.suffix(digits)
        let target = stem.dropLast(digits)
        guard number.count == digits, target.last == 0x2E,
            number.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return String(target.dropLast())
    }

    // MARK: - Abandoned drafts

    /// Removes the drafts of a target whose writers no longer exist.
    ///
    /// Drafts that cannot be examined or removed are left in place; they only take up space.
    package static func removeAbandoned(of target: String) {
        let (folder, name) = (PathParts.folder(of: target), PathParts.name(of: target))
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for entry in entries where targetName(ofDraft: entry) == name {
            removeIfAbandoned("\(folder)/\(entry)")
        }
    }

    /// Returns whether a file has the name of a draft and its writer no longer exists; false if the
    /// file cannot be examined.
    package static func isAbandoned(_ path: String) -> Bool {
        guard targetName(ofDraft: PathParts.name(of: path)) != nil else { return false }
        return ifAbandoned(path) {}
    }

    private static func removeIfAbandoned(_ path: String) {
        _ = ifAbandoned(path) { _ = unlink(path) }
    }

    /// Locks a draft and runs `body` if its writer no longer exists; returns whether `body` ran.
    private static func ifAbandoned(_ path: String, _ body: () -> Void) -> Bool {
        // O_NONBLOCK avoids waiting if the path is a pipe.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { _ = close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
            flock(file, LOCK_EX | LOCK_NB) == 0,
            // The writer may have moved the draft into place before it released the lock.
            FileLock.isAt(path, file)
        else { return false }
        body()
        return true
    }

    /// Locks a new draft; returns whether another writer removed it before it was locked.
    private static func isRemoved(_ path: String, lockedAs file: Int32) -> Bool {
        while flock(file, LOCK_EX) != 0 {
            // If the file system has no locks, no writer can lock a draft in order to remove it.
            guard errno == EINTR else { return false }
        }
        return !FileLock.isAt(path, file)
    }
}
