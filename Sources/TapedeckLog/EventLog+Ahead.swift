@_spi(Core) package import TapedeckModel

extension EventLog {
    /// Returns the number of events with an effective time after `milliseconds`, and the latest of
    /// these events.
    ///
    /// Events that a server refused, or received before that time, are not counted. The cost is a
    /// read of the entire log. Throws `LogError`: `.damaged`, `.closed`.
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
            // Each transaction covers a limited number of records, so that it does not pin old
            // pages for long.
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
