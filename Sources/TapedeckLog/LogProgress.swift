/// How far a long piece of work on a log has come.
public struct LogProgress: Hashable, Sendable {
    /// What is being done.
    public enum Phase: String, Sendable {
        /// The structure of the file is looked at.
        case pages
        /// What is there is being checked.
        case checking
        /// Events are written, to the log or to a file.
        case writing
        /// The index is brought up to date.
        case indexing
        /// Events that are superseded are taken away.
        case compacting
    }

    /// What is being done.
    public let phase: Phase
    /// How much of it is done: bytes of a file when checking an import, else events.
    public let done: UInt64
    /// How much there is.
    public let total: UInt64

    /// Is told how far the work has come, on the thread that does it.
    public typealias Report = (LogProgress) -> Void
}
