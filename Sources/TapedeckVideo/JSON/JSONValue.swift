/// A JSON document as it stands: absent and null differ, and numbers keep their digits.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The digits as written; see `int64` and `double`.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Of several members of one name the last counts.
    case object([String: JSONValue])

    /// The number as an integer, where it is one and fits.
    package var int64: Int64? {
        guard case .number(let digits) = self else { return nil }
        if let value = Int64(digits) { return value }
        // "1.0" and "1e3" are integers too; beyond 2^53 a double no longer tells them apart.
        guard let value = Double(digits), value.magnitude < 9_007_199_254_740_992,
            value.rounded(.towardZero) == value
        else { return nil }
        return Int64(value)
    }

    /// The number as a double, where it is finite.
    package var double: Double? {
        guard case .number(let digits) = self, let value = Double(digits), value.isFinite else {
            return nil
        }
        return value
    }

    /// What kind of value it is, for error texts.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
