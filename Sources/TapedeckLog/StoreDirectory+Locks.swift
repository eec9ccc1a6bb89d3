internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The opening lock keeps the log's file in place.
///
/// Processes take the lock as a shared lock to open the store, and as an exclusive lock to create,
/// restore, erase or shrink it. LMDB's own locks are not sufficient: a process waiting for them has
/// already opened the lock file of the old log.
extension StoreDirectory {
    /// The maximum number of times that the directory may disappear while a process waits for its
    /// lock.
    private static let triesMax = 8

    /// Waits until no other process is opening or creating the store, and locks other processes
    /// out.
    ///
    /// - Parameters:
    ///   - verb: The operation, such as "restoring".
    ///   - retry: Called if the directory is gone, to create it again or to throw.
    ///
    /// Throws `LogError`: `.busy` after `FileLock.waitMax`, `.accessDenied`, `.readOnly`, and the
    /// errors thrown by `retry`.
    func lockAlone(
        _ verb: String, retry: () throws(LogError) -> Void
    ) throws(LogError) -> FileLock {
        var tries = 0
        while true {
            do throws(LMDBError) {
                return try FileLock.wait(
                    for: openingLock, .alone, atMost: FileLock.waitMax, note: "is \(verb) it")
            } catch {
                guard error.kind == .notFound, tries < StoreDirectory.triesMax else {
                    throw lockError(error)
                }
            }
            tries += 1
            try retry()
        }
    }

    /// Waits until no process is creating or moving the store, and locks it for opening.
    ///
    /// Returns nil if there is no store. Also returns nil if the store is being opened read-only
    /// and the lock cannot be created, because other processes then cannot replace the log.
    func lockForOpening(isReadOnly: Bool) throws(LogError) -> FileLock? {
        var creates = false
        while true {
            do throws(LMDBError) {
                return try FileLock.wait(
                    for: openingLock, .shared, creates: creates, atMost: FileLock.waitMax,
                    note: "")
            } catch {
                switch error.kind {
                case .notFound:
                    // A lock file is not created in a directory without a store.
                    guard try exists, !creates else { return nil }
                    creates = true
                case .accessDenied where isReadOnly, .readOnly where isReadOnly: return nil
                default: throw lockError(error)
                }
            }
        }
    }

    private func lockError(_ error: LMDBError) -> LogError {
        guard error.kind == .busy else { return LogError(error) }
        return LogError(
            .busy, "the store in \(path) is in use: \(error.detail)",
            hint: "wait until that process is done, or stop it", cause: error)
    }

    /// Takes the lock for changing the runs of the index; returns nil if it is held elsewhere and
    /// `waits` is false.
    ///
    /// Without the lock, one merge would mistake another merge's unfinished run for a leftover from
    /// a crash. LMDB's writer lock is not sufficient, because a merge takes many transactions.
    func lockIndex(waits: Bool) throws(LogError) -> FileLock? {
        try LogError.wrapping {
            waits
                ? try FileLock.wait(for: indexLock, .alone) : try FileLock.take(indexLock, .alone)
        }
    }
}
