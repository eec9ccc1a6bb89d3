internal import Foundation

/// A name and a value: a query item, a header, a field of a form.
public struct SimulatedField: Hashable, Sendable {
    /// What it is called.
    public var name: String
    /// What it holds, decoded.
    public var value: String

    /// Makes a field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension SimulatedField {
    /// Reads `a=1&b=two+words`, as queries and forms are written.
    static func parse(urlEncoded text: some StringProtocol) -> [SimulatedField] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return SimulatedField(decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
        }
    }

    /// What `parse` reads; everything but letters, digits and `-._~` is escaped.
    static func urlEncoded(_ fields: [SimulatedField]) -> String {
        fields.map { encoded($0.name) + "=" + encoded($0.value) }.joined(separator: "&")
    }

    private static func decoded(_ text: some StringProtocol) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }

    private static func encoded(_ text: String) -> String {
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
