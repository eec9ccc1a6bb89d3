public import TapedeckLog
public import TapedeckModel

/// The log position up to which the user has seen the news on this device.
///
/// Other devices have marks of their own.
public enum NewsMark {
    private static let name = "news"

    /// Returns the mark; the position before the first event if the user has not seen any news.
    @available(*, noasync)
    public static func read(in log: EventLog) throws(LogError) -> LogPosition {
        guard let value = try log.syncRow(name), value.count == 8 else { return .start }
        return LogPosition(rawValue: value.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Moves the mark forward to a position; an earlier position has no effect.
    @available(*, noasync)
    public static func set(_ position: LogPosition, in log: EventLog) throws(LogError) {
        guard try read(in: log) < position else { return }
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: position.rawValue >> ($0 * 8)) }
        try log.setSyncRows([SyncRow(name, bytes)])
    }
}
