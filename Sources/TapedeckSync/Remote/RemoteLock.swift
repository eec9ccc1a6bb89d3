internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// A lock that only one process can hold for a remote; the operating system releases it when the
/// process ends.
package final class RemoteLock: Sendable {
    /// The activity that the lock protects.
    package enum Activity: String, Sendable {
        case sync = ".lock"
        case logout = ".logout.lock"
    }

    private let file: Int32

    /// Throws `SyncError` with `.busy` if another process, or another task, holds the lock.
    package init(store: String, _ remote: String, _ activity: Activity) throws(SyncError) {
        // The directory does not exist before the first login.
        try LoginFiles.makeDirectory(in: store)
        let path = "\(store)/\(LoginFiles.directoryName)/\(remote)\(activity.rawValue)"
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw SyncError(LogError.system(errno, path)) }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            _ = close(opened)
            let text =
                switch activity {
                case .sync: "syncing with \(remote)"
                case .logout: "logging out of \(remote)"
                }
            throw SyncError(
                .busy, "another process is \(text)",
                hint: "wait until it has finished, or stop it")
        }
        file = opened
    }

    // Closing the file does not release the lock immediately, because a child process has a copy of
    // the descriptor for a short time while it is being spawned.
    deinit {
        _ = flock(file, LOCK_UN)
        _ = close(file)
    }
}
