internal import CLMDB
internal import Foundation
internal import Synchronization

/// A lock on a data file that excludes writers which use another lock file.
///
/// LMDB's own lock is in the lock file. If that file is deleted, or is missing for a while, processes
/// that opened the data file before and after no longer exclude each other. Therefore, each writer
/// also locks the data file itself, and checks that both files are the files that it opened, and that
/// neither has returned to an earlier state.
final class WriterLock: Sendable {
    // LMDB synchronizes access to the handle.
    nonisolated(unsafe) private let environment: OpaquePointer
    private let path: String
    private let lockFile: FileIdentity
    private let file: Int32
    private let dataFile: FileIdentity?
    /// The number of the newest commit that this process has seen while it wrote.
    private let newest: Mutex<Int>
    /// The system's lock belongs to the process, so it does not exclude the process's other threads.
    private let threads = NSLock()

    /// - Parameter lockFile: The lock file at the time of opening.
    init(_ environment: OpaquePointer, _ path: String, _ lockFile: FileIdentity) {
        (self.environment, self.path, self.lockFile) = (environment, path, lockFile)
        var file: Int32 = -1
        mdb_env_get_fd(environment, &file)
        self.file = file
        dataFile = FileIdentity(of: file)
        newest = Mutex(WriterLock.lastCommit(in: environment))
    }

    private static func lastCommit(in environment: OpaquePointer) -> Int {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        return info.me_last_txnid
    }

    /// Waits for the other threads of this process; call this before LMDB's lock is acquired.
    func enter() { threads.lock() }

    /// Waits for writers that use another lock file.
    ///
    /// Throws `LMDBError`: `.replaced` if one of the files was deleted, replaced or overwritten, so
    /// that this process must open the file again; `.accessDenied` if a path cannot be looked up.
    func exclude(others transaction: borrowing WriteTransaction) throws(LMDBError) {
        while flock(file, LOCK_EX) != 0 {
            guard errno == EINTR else { throw LMDBError(errno, path: path) }
        }
        let last = WriterLock.lastCommit(in: environment)
        let lockFileNow = try FileIdentity.find(at: Environment.lockFile(of: path))
        let dataFileNow = try FileIdentity.find(at: path)
        // LMDB also counts commits in the lock file, which lacks the commits made with another one.
        guard transaction.number == last + 1, last >= newest.withLock(\.self),
            lockFile == lockFileNow, dataFile == dataFileNow
        else { throw WriterLock.replaced(path) }
        newest.withLock { $0 = last }
    }

    /// Notes the newest commit; call this after a commit.
    ///
    /// LMDB does not number a commit without changes.
    ///
    /// Throws `LMDBError` with `.replaced` if the data file was deleted or replaced during the commit:
    /// the file at the path lacks the commit, unless the former file returns. The loss of the lock file
    /// does not affect a commit.
    func committed() throws(LMDBError) {
        let last = WriterLock.lastCommit(in: environment)
        newest.withLock { $0 = max($0, last) }
        guard dataFile == FileIdentity(at: path) else {
            throw WriterLock.replaced(path, "during a commit, which may have been recorded")
        }
    }

    /// Call this after the end of the transaction.
    func leave() {
        _ = flock(file, LOCK_UN)
        threads.unlock()
    }

    /// - Parameter time: The time at which it happened, for the message.
    static func replaced(
        _ path: String, _ time: String = "while processes had it open"
    ) -> LMDBError {
        LMDBError(
            .replaced, path: path,
            detail: "it or \(Environment.lockFile(of: path)) was deleted or replaced \(time)")
    }
}
