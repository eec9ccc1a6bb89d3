internal import CLMDB
internal import Foundation

/// What LMDB or the system said, with the file it was said of.
package struct LMDBError: Error, CustomStringConvertible {
    /// What a caller can do something about.
    package enum Kind: Sendable {
        /// The disk is full; nothing of the transaction was stored.
        case diskFull
        /// The map is full and may not grow further.
        case mapFull
        /// The file system or directory cannot be written.
        case readOnly
        /// Permission denied.
        case accessDenied
        /// The file is not a whole LMDB file, or a page in it makes no sense.
        case damaged
        /// The file was written by an incompatible LMDB.
        case incompatible
        /// Too many readers, or a lock that cannot be had.
        case busy
        /// There is no such file.
        case notFound
        /// The system reported an input or output error.
        case inputOutput
        /// Anything else: a defect of ours.
        case unexpected
    }

    package let kind: Kind
    /// The number that LMDB or the system gave.
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

    /// Free bytes below which an input/output error is taken for a full disk: LMDB turns the short
    /// write of a full disk into EIO.
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
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, EISDIR, ELOOP: .damaged
        // An earlier write of a meta page failed; nothing goes on until the file is opened again.
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
