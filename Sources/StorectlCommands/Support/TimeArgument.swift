internal import TapedeckModel
internal import TapedeckVideo

/// Parses times that a user enters: RFC 3339 with any offset, or a date, which means the start of
/// that day in UTC.
enum TimeArgument {
    static let hint =
        "use a format such as 2019-07-11T20:00:00Z, 2019-07-11T16:00:00-04:00 or 2019-07-11"

    /// Returns a time in milliseconds since 1970.
    ///
    /// - Throws: `CommandError` with `.invalidTime` for any other string. A plain number is also
    ///   refused, because it could mean seconds or milliseconds.
    static func milliseconds(_ text: String, _ name: String) throws -> Int64 {
        if let time = read(text) { return time }
        throw CommandError(
            .invalidTime, "\(name): \"\(text.prefix(64))\" is not a time from 1970 to 9999",
            hint: hint)
    }

    /// Returns the time of an event in milliseconds since 1970; times before 1970 are refused.
    static func eventMilliseconds(_ text: String, _ name: String) throws -> UInt64 {
        if let time = readEvent(text) { return time }
        throw CommandError(
            .invalidTime, "\(name): \"\(text.prefix(64))\" is not a time from 1970 to 9999",
            hint: hint)
    }

    /// Returns the time of an event, or nil if the string is not a valid event time.
    static func readEvent(_ text: String) -> UInt64? { read(text).flatMap { UInt64(exactly: $0) } }

    /// Returns a time in milliseconds since 1970, or nil if the string is not a time.
    static func read(_ text: String) -> Int64? {
        if let time = Timestamps.milliseconds(text) { return time }
        guard let day = CalendarDay(text), (0..<253_402_300_800_000).contains(day.startMilliseconds)
        else { return nil }
        return day.startMilliseconds
    }

    /// Returns a time in the format that reports use.
    static func text(_ milliseconds: Int64) -> String {
        Timestamps.text(milliseconds: milliseconds)
    }

    /// Returns a stamp's time in the format that reports use.
    static func text(_ stamp: Stamp) -> String { text(Int64(clamping: stamp.milliseconds)) }
}
