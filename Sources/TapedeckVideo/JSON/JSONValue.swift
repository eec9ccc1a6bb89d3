/// A JSON value that distinguishes absent members from null and keeps the digits of numbers.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The number as written; see `int64` and `double`.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// The members; if several have the same name, the last one is used.
    case object([String: JSONValue])

    /// The value as an integer; nil if it is not an integer or does not fit in 64 bits.
    package var int64: Int64? {
        guard case .number(let digits) = self else { return nil }
        if let value = Int64(digits) { return value }
        // "1.0" and "1e3" are also integers; above 2^53, a double cannot represent every integer.
        guard let value = Double(digits), value.magnitude < 9_007_199_254_740_992,
            value.rounded(.towardZero) == value
        else { return nil }
        return Int64(value)
    }

    /// The value as a double; nil if it is not a number or not finite.
    package var double: Double? {
        guard case .number(let digits) = self, let value = Double(digits), value.isFinite else {
            return nil
        }
        return value
    }

    /// A noun phrase for the kind of value, used in error messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
