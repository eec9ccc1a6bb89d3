internal import Foundation

/// Disk space for LMDB's lock file, taken before it is mapped.
///
/// LMDB makes the file with holes and writes to it through its map; on a full disk the first write to a
/// hole ends the process. With room for the whole of it, a full disk is an error like any other.
enum LockFileRoom {
    /// A little more than LMDB takes for the readers that `Environment` allows.
    static let byteCount = 17 << 12

    /// What `stat` counts in, whatever the file system's own blocks are.
    private static let bytesPerBlock = 512

    /// Takes the room, and leaves what is in the file as it is; throws `.diskFull`.
    static func reserve(for path: String) throws(LMDBError) {
        let lock = path + "-lock"
        let file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            // Whoever cannot make it here cannot there; LMDB says why.
            return
        }
        defer { _ = close(file) }
        var facts = stat()
        if fstat(file, &facts) == 0, Int(facts.st_blocks) * bytesPerBlock >= byteCount { return }
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
    }
}
