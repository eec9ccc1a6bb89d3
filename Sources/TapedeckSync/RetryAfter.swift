/// How long a server or a remote asks to be left alone: the field `Retry-After` (RFC 9110, section 10.2.3) in seconds.
enum RetryAfter {
    /// The longest that is heeded: what comes over the network must neither overflow nor silence a device for ever.
    static let secondsMax: UInt64 = 86_400

    /// The wait in milliseconds; nil for no field, and for one that is no number of seconds.
    static func milliseconds(_ field: String?) -> UInt64? {
        guard let field, !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            return nil
        }
        // A number that does not fit is a long time all the same.
        return min(UInt64(field) ?? secondsMax, secondsMax) * 1_000
    }
}
