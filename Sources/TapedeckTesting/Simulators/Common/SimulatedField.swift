internal import Foundation

/// A name and a value, such as a query item, a header or a form field.
public struct SimulatedField: Hashable, Sendable {
    /// The field's name.
    public var name: String
    /// The field's value, decoded.
    public var value: String

    /// Creates a field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension SimulatedField {
    /// Parses the URL-encoded format of queries and forms, such as `a=1&b=two+words`.
    static func parse(urlEncoded text: some StringProtocol) -> [SimulatedField] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return SimulatedField(decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    /// Returns the URL-encoded fields; everything except letters, digits and `-._~` is escaped.
    static func urlEncoded(_ fields: [SimulatedField]) -> String {
        fields.map { encoded($0.name) + "=" + encoded($0.value) }.joined(separator: "&")
    }

    private static func decoded(_ text: some StringProtocol) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }

    /// Returns the text with everything except letters, digits and `-._~` escaped.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { result, byte in
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                result.append(character)
            } else {
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
