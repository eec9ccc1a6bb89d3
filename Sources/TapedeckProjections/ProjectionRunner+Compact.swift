package import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// The number of blocks after which compaction lets other processes rebuild projections.
    private static let blocksPerTurnMax = 256

    /// Removes the events that a compaction rule declares unnecessary; see `EventLog.compact`.
    ///
    /// First brings all maintained projections up to date, and then compacts only events that they
    /// have folded, so no projection needs a rebuild. Waits for rebuilds and replays that are
    /// running in any process; new rebuilds and replays wait for the compaction.
    @available(*, noasync)
    package func compact(
        _ rule: CompactionRule, blockCount: UInt64 = CompactionRule.blockCount,
        progress: LogProgress.Report? = nil
    ) throws -> CompactionReport {
        try checkOpen()
        return try ProjectionError.naming {
            var total = CompactionReport()
            while true {
                let through = try takeInAll()
                // The scratch locks must be taken first, because the owner of a scratch file may be
                // waiting for a rebuild.
                let scratch = try StoreLock.allScratch(log.directory, waits: true)
                let rebuilding = try StoreLock.rebuild(log.directory, waits: true)
                let (report, isDone) = try withExtendedLifetime((scratch, rebuilding)) {
                    try log.compact(
                        rule, through: through, blocksMax: Self.blocksPerTurnMax,
                        blockCount: blockCount, progress: progress)
                }
                total.examined += report.examined
                total.removed += report.removed
                total.stubs += report.stubs
                total.waiting = report.waiting
                if isDone { return total }
            }
        }
    }

    /// Brings every built projection up to date and returns the position that all of them have
    /// reached.
    private func takeInAll() throws -> LogPosition {
        let head = try log.currentHead()
        let built = try status().filter(\.isBuilt).map(\.name)
        guard !built.isEmpty else { return head }
        try read(built) { _ in }
        let reached = try drivers(named: built).compactMap { try checkpoint(of: $0)?.position }
        return LogPosition(rawValue: reached.min() ?? 0)
    }
}
