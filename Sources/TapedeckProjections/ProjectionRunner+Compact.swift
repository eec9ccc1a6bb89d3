package import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Blocks of events that are looked at before others may rebuild projections.
    private static let blocksPerTurnMax = 256

    /// Takes away the events of the log that a rule says nobody will miss; see `EventLog.compact`.
    ///
    /// What the runner keeps is brought up to date first, and nothing behind that is touched, so that no
    /// projection has to be made anew. Rebuilds and replays, of this process or another, are waited for, and
    /// wait meanwhile.
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
                // In this order: whoever has a scratch file may wait for a rebuild.
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

    /// Brings every projection that is built up to date; says how far all of them are.
    private func takeInAll() throws -> LogPosition {
        let head = try log.currentHead()
        let built = try status().filter(\.isBuilt).map(\.name)
        guard !built.isEmpty else { return head }
        try read(built) { _ in }
        let reached = try drivers(named: built).compactMap { try checkpoint(of: $0)?.position }
        return LogPosition(rawValue: reached.min() ?? 0)
    }
}
