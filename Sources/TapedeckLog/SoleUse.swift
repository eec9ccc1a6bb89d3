internal import Foundation
internal import TapedeckModel

/// The right to a store that no other process has open, as long as this lives.
///
/// Whoever has an LMDB file open holds a shared lock (`fcntl`) on the first byte of its lock file; this holds
/// an exclusive one.
final class SoleUse {
    /// Nil where nobody ever had the store open since its lock file was made.
    private let file: Int32?

    /// Throws `LogError`: `.busy` where another process has the store open, `.accessDenied`.
    init(of place: StoreDirectory) throws(LogError) {
        let path = place.log + "-lock"
        let opened = open(path, O_RDWR | O_CLOEXEC)
        guard opened >= 0 else {
            guard errno == ENOENT else { throw LogError.system(errno, path) }
            file = nil
            return
        }
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
                .busy, "another process has the store in \(place.path) open", hint: "end it first")
        }
        file = opened
    }

    deinit { if let file { _ = close(file) } }
}
