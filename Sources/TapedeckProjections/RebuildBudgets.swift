extension Rebuild {
    /// The memory limits of a rebuild before it spills to files or waits; tests use tiny values.
    package struct Budgets: Sendable {
        /// The maximum number of entries of 16 bytes in memory; more go to a file.
        package var entriesMax: Int
        /// The maximum number of bytes of rows of all projections in memory; more go to a file.
        package var rowBytesMax: Int
        /// The maximum number of unwritten bytes of folded partitions; folding pauses beyond it.
        package var outputBytesMax: Int
        /// The number of bytes of rows after which a load commits.
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
