/// An id of Shelby's API of 2012 to 2014: 24 hex digits, of which the first eight are Unix seconds.
///
/// Ids of one server sort by the time at which they were made; times to show are for people only.
struct ShelbyV1ID: Hashable, Comparable {
    /// As the remote writes it.
    let text: String
    /// When it was made, in Unix milliseconds.
    let milliseconds: Int64

    private static let digits = 24
    private static let timeDigits = 8

    /// Reads an id; nil for what is none.
    init?(_ text: String) {
        guard text.utf8.count == ShelbyV1ID.digits, text.utf8.allSatisfy(ShelbyV1ID.isDigit),
            let seconds = Int64(text.prefix(ShelbyV1ID.timeDigits), radix: 16)
        else { return nil }
        self.text = text
        milliseconds = seconds * 1_000
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }

    static func < (left: ShelbyV1ID, right: ShelbyV1ID) -> Bool { left.text < right.text }
}
