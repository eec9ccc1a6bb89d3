/// A moment in Unix milliseconds; as JSON an RFC 3339 text in UTC with milliseconds.
public struct UTCTime: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// Unix milliseconds.
    public let milliseconds: Int64

    /// Wraps Unix milliseconds.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    public var description: String { Timestamps.text(milliseconds: milliseconds) }

    /// The time so many milliseconds later.
    func adding(_ milliseconds: Int64) -> UTCTime {
        UTCTime(milliseconds: self.milliseconds + milliseconds)
    }

    /// Reads the text; throws `DecodingError` where it is no RFC 3339 time.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let milliseconds = Timestamps.milliseconds(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not an RFC 3339 time: \(text.prefix(40))")
        }
        self.milliseconds = milliseconds
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Earlier.
    public static func < (left: UTCTime, right: UTCTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
