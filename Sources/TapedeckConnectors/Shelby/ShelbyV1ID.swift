/// An id of Shelby's 2012–2014 API: 24 hex digits, the first eight of which are Unix seconds.
///
/// Ids from one server sort by creation time, with a resolution of one second.
struct ShelbyV1ID: Hashable, Comparable {
    /// The id in the remote's notation.
    let text: String
    /// The creation time, in Unix milliseconds.
    let milliseconds: Int64

    private static let digits = 24
    private static let timeDigits = 8

    /// Parses an id; nil if it is invalid.
    init?(_ text: String) {
        guard text.utf8.count == ShelbyV1ID.digits, text.utf8.allSatisfy(ShelbyV1ID.isDigit),
            let seconds = Int64(text.prefix(ShelbyV1ID.timeDigits), radix: 16)
        else { return nil }
        self.text = text
        milliseconds = seconds * 1_000
    }

    /// Creates the lowest id of a second.
    init(at milliseconds: Int64) {
        let seconds = UInt32(clamping: milliseconds / 1_000)
        let time = String(seconds, radix: 16)
        func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
        text =
            zeros(ShelbyV1ID.timeDigits - time.count) + time
            + zeros(ShelbyV1ID.digits - ShelbyV1ID.timeDigits)
        self.milliseconds = Int64(seconds) * 1_000
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }

    static func < (left: ShelbyV1ID, right: ShelbyV1ID) -> Bool { left.text < right.text }
}
