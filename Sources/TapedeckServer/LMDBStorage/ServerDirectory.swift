internal import Foundation
internal import Synchronization
internal import TapedeckModel

/// The files of one server.
///
/// - `server.mdb` holds everything, with LMDB's full durability.
/// - `token` holds a token of the space `default`, readable by its owner only.
/// - `server.lock` is held by the server that serves the directory.
package struct ServerDirectory: Sendable {
    package let path: String

    /// The newest storage format that this program writes and reads: of files that hold range stubs.
    package static let format: UInt32 = 2
    /// That of a file without.
    package static let firstFormat: UInt32 = 1

    package init(_ path: String) { self.path = path }

    package var store: String { path + "/server.mdb" }
    package var tokenFile: String { path + "/token" }
    var lock: String { path + "/server.lock" }

    package var exists: Bool { FileManager.default.fileExists(atPath: store) }

    /// Makes the directory, readable by its owner only.
    func create() throws(ServerError) {
        if FileManager.default.fileExists(atPath: path) { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw ServerError(
                .accessDenied, "the directory \(path) cannot be made\(SystemReason.of(error))",
                hint: "check the path, and who may write above it", cause: error)
        }
    }

    /// Puts the directory's list of files on disk.
    func synchronize() throws(ServerError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw ServerError(system: errno, path) }
        defer { _ = close(file) }
        guard fsync(file) == 0 else { throw ServerError(system: errno, path) }
    }

    /// Writes the token's file whole, or not at all.
    func writeToken(_ token: String) throws(ServerError) {
        let part = tokenFile + "." + UInt64.random(in: .min ... .max).paddedHex + ".part"
        let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ServerError(system: errno, tokenFile) }
        var isPlaced = false
        defer {
            _ = close(file)
            if !isPlaced { unlink(part) }
        }
        let bytes = Array((token + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(file, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw ServerError(system: errno, tokenFile)
            }
            written += count
        }
        guard fsync(file) == 0, rename(part, tokenFile) == 0 else {
            throw ServerError(system: errno, tokenFile)
        }
        isPlaced = true
        try synchronize()
    }
}

/// The right to serve a directory: one holder among all processes.
///
/// It is an advisory lock on a file of its own, so the system lets go of it when its holder dies.
final class ServerLock: Sendable {
    private let file: Int32
    private let isHeld = Atomic(true)

    init(_ directory: ServerDirectory) throws(ServerError) {
        let opened = open(directory.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw ServerError(system: errno, directory.lock) }
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            if number == EINTR { continue }
            _ = close(opened)
            guard number == EWOULDBLOCK else { throw ServerError(system: number, directory.lock) }
            throw ServerError(
                .busy, "another server serves \(directory.path)",
                hint: "end it first, or serve another directory")
        }
        file = opened
    }

    /// Lets go of it; once is enough.
    func release() {
        guard isHeld.exchange(false, ordering: .relaxed) else { return }
        // To close is not enough: a program that is being started holds a copy of it for a moment.
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }

    deinit { release() }
}

extension ServerError {
    /// What the system's error number means of a file that is not LMDB's.
    init(system number: Int32, _ path: String) {
        let text = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            self.init(
                .diskFull, "the disk that holds \(path) is full; nothing was lost",
                hint: "make room and try again")
        case EROFS:
            self.init(
                .readOnly, "\(path) cannot be written: \(text)", hint: "use another directory")
        case EACCES, EPERM:
            self.init(
                .accessDenied, "\(path) cannot be used: \(text)",
                hint: SystemReason.accessHint)
        case ENOENT, ENOTDIR:
            self.init(.notFound, "there is no \(path)", hint: "check the path")
        default:
            self.init(
                .inputOutput, "input or output failed on \(path): \(text)", hint: "check the disk")
        }
    }
}
