@_spi(Core) package import TapedeckModel

extension EventLog {
    /// How many events count as of a later time than `milliseconds`, and the one that does so the latest.
    ///
    /// What a server has received before, or refused, is none of them. Costs a read of the whole log. Throws
    /// `LogError`: `.damaged`, `.closed`.
    @available(*, noasync)
    package func eventsAhead(
        of milliseconds: UInt64
    ) throws(LogError) -> (count: UInt64, last: (stamp: Stamp, position: LogPosition)?) {
        settleBuffered()
        let head = try currentHead().rawValue
        var count: UInt64 = 0
        var last: (stamp: Stamp, position: LogPosition)?
        var after: UInt64 = 0
        while after < head {
            // A transaction for a bounded number of records, so that it pins no old pages for long.
            let from = after
            let upper = min(head, from + UInt64(EventLog.recordsPerTransactionMax))
            after = try read { transaction in
                try self.scan(transaction, after: from, through: upper) { record in
                    guard record.stamp.milliseconds > milliseconds else { return }
                    let row = try self.override(at: record.position, transaction)
                    let stamp = row?.effectiveStamp ?? record.stamp
                    guard row?.isRefused != true, stamp.milliseconds > milliseconds else { return }
                    count += 1
                    guard last.map({ $0.stamp < stamp }) ?? true else { return }
                    last = (stamp, LogPosition(rawValue: record.position))
                }
            }
        }
        return (count, last)
    }
}
