/// Reads the pause requested by a server or remote: the `Retry-After` header, in seconds or as a
/// date (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The maximum pause, so that a value from the network can neither overflow nor stop a device
    /// forever.
    static let secondsMax: UInt64 = 86_400

    /// Returns the pause in milliseconds; nil if the field is missing or invalid.
    ///
    /// - Parameter now: The time of the response, in milliseconds since 1970. If the field contains
    ///   a date, `now` should come from the same clock as the date.
    static func milliseconds(_ field: String?, now: Int64) -> UInt64? {
        guard let field, !field.isEmpty else { return nil }
        if field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // A number that is too large for the type is replaced by the maximum.
            return min(UInt64(field) ?? secondsMax, secondsMax) * 1_000
        }
        guard let end = HTTPDate.milliseconds(field) else { return nil }
        let (pause, overflow) = end.subtractingReportingOverflow(now)
        return overflow ? secondsMax * 1_000 : min(UInt64(max(0, pause)), secondsMax * 1_000)
    }
}
