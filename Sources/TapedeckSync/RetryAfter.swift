/// Reads the pause requested by a server or remote: the `Retry-After` header in seconds (RFC 9110,
/// section 10.2.3).
enum RetryAfter {
    /// The maximum pause, so that a value from the network can neither overflow nor stop a device
    /// forever.
    static let secondsMax: UInt64 = 86_400

    /// Returns the pause in milliseconds; nil if the field is missing or not a number of seconds.
    static func milliseconds(_ field: String?) -> UInt64? {
        guard let field, !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            return nil
        }
        // A number that is too large for the type is replaced by the maximum.
        return min(UInt64(field) ?? secondsMax, secondsMax) * 1_000
    }
}
