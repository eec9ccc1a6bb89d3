internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// The opening lock keeps the log's file in its place: held, with others, by whoever opens the store, and alone by whoever
/// makes, restores, erases or shrinks it.
///
/// LMDB's own locks begin too late for that: who waits for them has opened the lock file of the former log.
extension StoreDirectory {
    /// How often the directory may vanish while its lock is waited for.
    private static let triesMax = 8

    /// Waits until nobody opens or makes the store; others wait for the lock then.
    ///
    /// - Parameters:
    ///   - verb: what is done: "restoring".
    ///   - retry: called where the directory is gone, to make it or to give up.
    ///
    /// Throws `LogError`: `.busy` behind `FileLock.waitMax`, `.accessDenied`, `.readOnly`, and what `retry` throws.
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

    /// Waits until nobody makes or moves the store.
    ///
    /// Nil where there is none, or where no lock can be made and nothing will be written: there nobody can put another
    /// file in its place, either.
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
                    // In a directory without a store nothing is to be made.
                    guard exists, !creates else { return nil }
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
            .busy, "the store in \(path) cannot be used now: \(error.detail)",
            hint: "wait for it, or end it", cause: error)
    }

    /// The right to change which runs the index consists of; nil if somebody has it and `waits` is false.
    ///
    /// Without it, one merge would take another's unfinished run for what a crash left behind. LMDB's writer lock is too
    /// short, since a merge takes many transactions.
    func lockIndex(waits: Bool) throws(LogError) -> FileLock? {
        try LogError.wrapping {
            waits
                ? try FileLock.wait(for: indexLock, .alone) : try FileLock.take(indexLock, .alone)
        }
    }
}
