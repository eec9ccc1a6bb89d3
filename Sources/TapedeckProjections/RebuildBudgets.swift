extension Rebuild {
    /// The memory limits beyond which a rebuild spills to files or waits; tests use tiny values.
    package struct Budgets: Sendable {
        /// The maximum number of entries in memory, each 16 bytes long; the remaining entries go to
        /// a file.
        package var entriesMax: Int
        /// The maximum number of bytes in memory for the rows of all projections; the remaining
        /// rows go to a file.
        package var rowBytesMax: Int
        /// The maximum number of unwritten bytes of folded partitions; beyond this limit, folding
        /// pauses.
        package var outputBytesMax: Int
        /// The number of bytes after which the loader commits.
        package var bytesPerCommitMax: Int

        package init(
            entriesMax: Int = 4 << 20, rowBytesMax: Int = 64 << 20, outputBytesMax: Int = 32 << 20,
            bytesPerCommitMax: Int = 16 << 20
        ) {
            self.entriesMax = entriesMax
            self.rowBytesMax = rowBytesMax
            self.outputBytesMax = outputBytesMax
            self.bytesPerCommitMax = bytesPerCommitMax
        }
    }
}
