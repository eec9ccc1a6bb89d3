internal import Foundation

/// Reserves disk space for LMDB's lock file before it is mapped.
///
/// LMDB creates a sparse file and writes to it through a memory map. On a full disk, the first
/// write to a hole would crash the process. Because the space is reserved, a full disk causes an
/// ordinary error instead.
enum LockFileRoom {
    /// The number of bytes to reserve: slightly more than LMDB needs for the number of readers that
    /// `Environment` allows.
    static let byteCount = 17 << 12

    /// The unit of `st_blocks`, independent of the file system's block size.
    private static let bytesPerBlock = 512

    /// Reserves the space without changing the file's contents, and returns the lock file; nil if
    /// the file system is read-only.
    ///
    /// Throws `LMDBError`: `.diskFull` if there is not enough space, and `.accessDenied` and other
    /// errors if the lock file cannot be opened; LMDB would report these errors for the file that
    /// the lock file belongs to.
    static func reserve(for path: String) throws(LMDBError) -> FileIdentity? {
        let lock = Environment.lockFile(of: path)
        let file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            // On a read-only file system, LMDB needs no lock file to read, and otherwise reports
            // the error.
            if errno == EROFS { return nil }
            throw LMDBError(errno, path: lock)
        }
        defer { _ = close(file) }
        var facts = stat()
        if fstat(file, &facts) == 0, Int(facts.st_blocks) * bytesPerBlock >= byteCount {
            return FileIdentity(of: file)
        }
        #if canImport(Darwin)
            var request = fstore_t(
                fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
                fst_length: off_t(byteCount), fst_bytesalloc: 0)
            let code = fcntl(file, F_PREALLOCATE, &request) == -1 ? errno : 0
        #else
            let code = posix_fallocate(file, 0, off_t(byteCount))
        #endif
        guard code != ENOSPC, code != EDQUOT else {
            throw LMDBError(
                .diskFull, number: code, path: lock, detail: String(cString: strerror(code)))
        }
        return FileIdentity(of: file)
    }
}
