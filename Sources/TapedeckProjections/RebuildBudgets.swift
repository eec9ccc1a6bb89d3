extension Rebuild {
    /// What a rebuild may hold in memory before it takes a longer way; tests set it tiny.
    package struct Budgets: Sendable {
        /// Entries of 16 bytes that may be in memory at once; with more, the log is scanned several times.
        package var entriesMax: Int
        /// Bytes of a projection's rows that may wait in memory; with more, they wait in a file.
        package var rowBytesMax: Int
        /// Bytes of rows after which a load commits.
        package var bytesPerCommitMax: Int

        package init(
            entriesMax: Int = Rebuild.entriesMax, rowBytesMax: Int = RowRuns.memoryCountMax,
            bytesPerCommitMax: Int = Rebuild.bytesPerCommitMax
        ) {
            self.entriesMax = entriesMax
            self.rowBytesMax = rowBytesMax
            self.bytesPerCommitMax = bytesPerCommitMax
        }
    }
}
