internal import TapedeckModel
internal import TapedeckVideo

/// A time that a user gives: RFC 3339 with any offset, or a day, which is its beginning in UTC.
enum TimeArgument {
    static let hint = "write 2019-07-11T20:00:00Z, 2019-07-11T16:00:00-04:00 or 2019-07-11"

    /// Unix milliseconds.
    ///
    /// Throws `CommandError` with `.invalidTime` for anything else, a plain number included, as
    /// nobody can tell whether that counts seconds or milliseconds.
    static func milliseconds(_ text: String, _ name: String) throws -> Int64 {
        if let time = read(text) { return time }
        throw CommandError(
            .invalidTime, "\(name): \"\(text.prefix(64))\" is not a time from 1970 to 9999",
            hint: hint)
    }

    /// Unix milliseconds of a time at which something may have happened: not before 1970.
    static func eventMilliseconds(_ text: String, _ name: String) throws -> UInt64 {
        if let time = readEvent(text) { return time }
        throw CommandError(
            .invalidTime, "\(name): \"\(text.prefix(64))\" is not a time from 1970 to 9999",
            hint: hint)
    }

    /// The same, or nil.
    static func readEvent(_ text: String) -> UInt64? { read(text).flatMap { UInt64(exactly: $0) } }

    /// Unix milliseconds, or nil.
    static func read(_ text: String) -> Int64? {
        if let time = Timestamps.milliseconds(text) { return time }
        guard let day = CalendarDay(text), (0..<253_402_300_800_000).contains(day.startMilliseconds)
        else { return nil }
        return day.startMilliseconds
    }

    /// The report's form of a time.
    static func text(_ milliseconds: Int64) -> String {
        Timestamps.text(milliseconds: milliseconds)
    }

    /// The report's form of a stamp's time.
    static func text(_ stamp: Stamp) -> String { text(Int64(clamping: stamp.milliseconds)) }
}
