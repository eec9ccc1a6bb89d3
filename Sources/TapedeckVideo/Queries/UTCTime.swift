/// A point in time, in milliseconds since 1970.
///
/// In JSON, a time is an RFC 3339 string in UTC with milliseconds.
public struct UTCTime: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The number of milliseconds since 1970.
    public let milliseconds: Int64

    /// Creates a time from the number of milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The time as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    public var description: String { Timestamps.text(milliseconds: milliseconds) }

    /// Returns the time that is the given number of milliseconds later.
    func adding(_ milliseconds: Int64) -> UTCTime {
        UTCTime(milliseconds: self.milliseconds + milliseconds)
    }

    /// Decodes a string.
    ///
    /// Throws `DecodingError` if the string is not an RFC 3339 time.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let milliseconds = Timestamps.milliseconds(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not an RFC 3339 time: \(text.prefix(40))")
        }
        self.milliseconds = milliseconds
    }

    /// Encodes the time as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Returns whether `left` is earlier than `right`.
    public static func < (left: UTCTime, right: UTCTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
