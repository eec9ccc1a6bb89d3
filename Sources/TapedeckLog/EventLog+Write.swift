package import TapedeckLMDB

extension EventLog {
    /// Runs `body` in a write transaction on the caller's thread, and returns when its changes are
    /// on disk.
    ///
    /// Use this for writes other than appends: receipts, imports, cursors. `body` may run more than
    /// once (see `Environment.write`), so it must not change anything outside the transaction.
    ///
    /// Throws `LogError`: `.closed`, `.mustReopen`, `.diskFull`, `.readOnly`, and the errors thrown
    /// by `body`.
    @available(*, noasync)
    package func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws(LogError) -> R {
        try queue.beginDirectWrite()
        defer { queue.finished(1) }
        do throws(LogError) {
            return try LogError.wrapping { try environment.write(body) }
        } catch {
            if error.code == .inputOutput { queue.latch(error) }
            throw error
        }
    }
}
