/// The progress of a long operation on a log.
public struct LogProgress: Hashable, Sendable {
    /// A phase of an operation.
    public enum Phase: String, Sendable {
        /// The structure of the file is checked.
        case pages
        /// The contents are checked.
        case checking
        /// Events are written to the log or to a file.
        case writing
        /// The index is updated.
        case indexing
        /// Superseded events are removed.
        case compacting
    }

    /// The current phase.
    public let phase: Phase
    /// The completed amount: bytes of the file while an import is checked, otherwise events.
    public let done: UInt64
    /// The total amount, in the same unit.
    public let total: UInt64

    /// A callback for progress reports, which is called on the working thread.
    public typealias Report = (LogProgress) -> Void
}
