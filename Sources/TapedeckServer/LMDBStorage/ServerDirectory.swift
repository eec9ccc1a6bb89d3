internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The files of one server.
///
/// - `server.mdb` contains all data, with LMDB's full durability.
/// - `token` contains a token for the space `default`; only the file's owner can read it.
/// - `server.lock` is locked while a server uses the directory.
package struct ServerDirectory: Sendable {
    package let path: String

    /// The newest storage format that this program reads and writes, used for files with range
    /// stubs.
    package static let format: UInt32 = 2
    /// The format of a file without range stubs.
    package static let firstFormat: UInt32 = 1

    package init(_ path: String) { self.path = path }

    package var store: String { path + "/server.mdb" }
    package var tokenFile: String { path + "/token" }
    var lock: String { path + "/server.lock" }

    /// Whether the directory contains a server's file; throws `ServerError` if that is unknown.
    package var exists: Bool {
        get throws(ServerError) { try ServerDirectory.exists(store) }
    }

    /// Returns whether a file exists.
    static func exists(_ path: String) throws(ServerError) -> Bool {
        try ServerError.wrapping { try PathParts.exists(path) }
    }

    /// Creates the directory, readable only by its owner, and syncs it to disk.
    func create() throws(ServerError) {
        let made: [String]
        do throws(LMDBError) {
            made = try Folder.make(path)
        } catch {
            throw ServerError(
                error.kind == .diskFull ? .diskFull : .accessDenied,
                "the directory \(path) cannot be created: \(error.detail)",
                hint: "check the path, and the permissions of its parent directory", cause: error)
        }
        try ServerError.wrapping { try Folder.synchronizeAbove(path, made: made) }
    }

    /// Syncs the directory's entries to disk.
    func synchronize() throws(ServerError) {
        try ServerError.wrapping { try Folder.synchronize(path) }
    }

    /// Acquires the lock on the directory, which only one server can hold.
    func lockAlone() throws(ServerError) -> FileLock {
        guard let lock = try ServerError.wrapping({ try FileLock.take(lock, .alone) }) else {
            throw ServerError(
                .busy, "another server is using \(path)",
                hint: "stop the other server first, or serve another directory")
        }
        return lock
    }

    /// Writes the token file atomically.
    func writeToken(_ token: String) throws(ServerError) {
        do throws(DraftFile.Failure) {
            let draft = try DraftFile(of: tokenFile)
            try draft.write(Array((token + "\n").utf8))
            try draft.place()
        } catch {
            throw ServerError(system: error.number, tokenFile)
        }
        try synchronize()
    }
}

extension ServerError {
    /// Converts a system error number for a file that LMDB does not manage.
    init(system number: Int32, _ path: String) {
        let text = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            self.init(
                .diskFull, "the disk that holds \(path) is full; nothing was lost",
                hint: "free some space and try again")
        case EROFS:
            self.init(
                .readOnly, "\(path) cannot be written: \(text)", hint: "use another directory")
        case EACCES, EPERM:
            self.init(
                .accessDenied, "\(path) cannot be used: \(text)",
                hint: SystemReason.accessHint)
        case ENOENT, ENOTDIR:
            self.init(.notFound, "there is no \(path)", hint: "check the path")
        case ELOOP, ENAMETOOLONG:
            self.init(
                .usage, "\(path) cannot be used: \(text)", hint: SystemReason.pathHint)
        default:
            self.init(
                .inputOutput, "I/O error on \(path): \(text)", hint: "check the disk")
        }
    }
}
