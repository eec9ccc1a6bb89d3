internal import CLMDB
internal import Foundation

/// An error reported by LMDB or the system, with the path of the affected file.
package struct LMDBError: Error, CustomStringConvertible {
    /// The kinds of errors that callers can handle differently.
    package enum Kind: Sendable {
        /// The disk is full; none of the transaction's changes were stored.
        case diskFull
        /// The file has reached its maximum size, so its memory map cannot grow.
        case mapFull
        /// The file system or directory is read-only.
        case readOnly
        /// Permission denied.
        case accessDenied
        /// The file is not a complete LMDB file, or one of its pages is invalid.
        case damaged
        /// The file was written by an incompatible LMDB version.
        case incompatible
        /// There are too many readers, or a lock is not available.
        case busy
        /// The file or its lock file was deleted or replaced while the file was open.
        case replaced
        /// The file does not exist.
        case notFound
        /// The path cannot name a file: it is too long, or has a loop of symbolic links or a link
        /// without a target.
        case unusablePath
        /// The system reported an I/O error.
        case inputOutput
        /// Any other error, which means that this program has a bug.
        case unexpected
    }

    package let kind: Kind
    /// The error number from LMDB or the system.
    package let number: Int32
    package let path: String
    package let detail: String

    package var description: String { "\(detail) (\(path))" }

    package init(_ kind: Kind, number: Int32 = 0, path: String, detail: String) {
        self.kind = kind
        self.number = number
        self.path = path
        self.detail = detail
    }

    init(_ number: Int32, path: String) {
        self.init(
            LMDBError.kind(of: number, path: path), number: number, path: path,
            detail: String(cString: mdb_strerror(number)))
    }

    /// The amount of free space, in bytes, below which an I/O error is reported as a full disk.
    ///
    /// LMDB reports a short write on a full disk as EIO.
    static let diskFullFreeBytesMax: UInt64 = 4 << 20

    private static func kind(of number: Int32, path: String) -> Kind {
        switch number {
        case ENOSPC, EDQUOT: .diskFull
        case EIO:
            freeBytes(path).map { $0 < diskFullFreeBytesMax } == true ? .diskFull : .inputOutput
        case MDB_MAP_FULL: .mapFull
        case EROFS: .readOnly
        case EACCES, EPERM: .accessDenied
        case ENOENT, ENOTDIR: .notFound
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, EISDIR: .damaged
        case ELOOP, ENAMETOOLONG: .unusablePath
        // Writing a meta page failed earlier; every call fails until the file is reopened.
        case MDB_PANIC: .inputOutput
        case MDB_VERSION_MISMATCH, MDB_INCOMPATIBLE: .incompatible
        case MDB_READERS_FULL, EAGAIN, EBUSY, EMFILE, ENFILE: .busy
        default: .unexpected
        }
    }

    package static func freeBytes(_ path: String) -> UInt64? {
        var facts = statvfs()
        guard statvfs(PathParts.folder(of: path), &facts) == 0 else { return nil }
        return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
    }
}
