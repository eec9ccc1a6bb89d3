public import TapedeckLog
public import TapedeckModel

/// The log position up to which the user has seen the news on this device.
///
/// Each device has its own mark.
public enum NewsMark {
    private static let name = "news"

    /// Returns the mark; the position before the first event if the user has not seen any news.
    @available(*, noasync)
    public static func read(in log: EventLog) throws(LogError) -> LogPosition {
        let position = try log.syncRow(name)?.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return reader.littleEndian(UInt64.self)
        }
        return position.map(LogPosition.init) ?? .start
    }

    /// Moves the mark forward to a position; an earlier position has no effect.
    @available(*, noasync)
    public static func set(_ position: LogPosition, in log: EventLog) throws(LogError) {
        guard try read(in: log) < position else { return }
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(position.rawValue)
        try log.setSyncRows([SyncRow(name, bytes)])
    }
}
