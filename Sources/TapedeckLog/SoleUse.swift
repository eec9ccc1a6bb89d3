internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// Exclusive use of a store for the lifetime of this object; no other process has the store open.
///
/// A process with an LMDB file open holds a shared lock (`fcntl`) on the first byte of the file's
/// lock file; this object holds an exclusive lock on that byte. The opening lock prevents other
/// processes from opening the store in the meantime.
final class SoleUse {
    private let file: Int32

    /// Acquires exclusive use of a store.
    ///
    /// - Parameter lock: The store's opening lock, held exclusively.
    ///
    /// Throws `LogError`: `.busy` if another process has the store open, `.accessDenied`.
    init(of place: StoreDirectory, under lock: FileLock) throws(LogError) {
        let path = Environment.lockFile(of: place.log)
        let opened = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw LogError.system(errno, path) }
        var wanted = flock()
        (wanted.l_type, wanted.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
        (wanted.l_start, wanted.l_len) = (0, 1)
        guard fcntl(opened, F_SETLK, &wanted) == 0 else {
            let reason = errno
            _ = close(opened)
            guard reason == EACCES || reason == EAGAIN else {
                throw LogError.system(reason, path)
            }
            throw LogError(
                .busy, "another process has the store in \(place.path) open", hint: "stop it first")
        }
        file = opened
    }

    deinit { _ = close(file) }
}
