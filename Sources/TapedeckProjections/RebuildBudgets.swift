extension Rebuild {
    /// What a rebuild may hold in memory before it takes a longer way; tests set it tiny.
    package struct Budgets: Sendable {
        /// Entries of 16 bytes that may wait in memory; more wait in a file.
        package var entriesMax: Int
        /// Bytes of all projections' rows that may wait in memory; more wait in a file.
        package var rowBytesMax: Int
        /// Bytes of folded partitions that may wait to be written; with more, nothing is folded meanwhile.
        package var outputBytesMax: Int
        /// Bytes of rows after which a load commits.
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
