internal import Foundation

/// A JSON document whose members keep their order.
///
/// The names and the order of members are part of a report's contract. Foundation's encoder can
/// sort members, but cannot keep their order.
indirect enum JSON: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    /// A number; written as null if it is not finite.
    case number(Double)
    case text(String)
    case list([JSON])
    case object([(name: String, value: JSON)])
    /// A string that is already JSON on one line.
    case raw(String)

    /// The document on one line, without a line feed.
    var line: String {
        var out = ""
        write(into: &out)
        return out
    }

    /// Returns an object with a member added; any other value is returned unchanged.
    func adding(_ name: String, _ value: JSON) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members + [(name, value)])
    }

    private func write(into out: inout String) {
        switch self {
        case .null: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        case .integer(let value): out += String(value)
        case .unsigned(let value): out += String(value)
        case .number(let value): out += JSON.digits(value)
        case .text(let value): JSON.write(value, into: &out)
        case .raw(let text): JSON.writeDocument(text, into: &out)
        case .list(let values):
            out += "["
            for (index, value) in values.enumerated() {
                if index > 0 { out += "," }
                value.write(into: &out)
            }
            out += "]"
        case .object(let members):
            out += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { out += "," }
                JSON.write(member.name, into: &out)
                out += ":"
                member.value.write(into: &out)
            }
            out += "}"
        }
    }

    /// Formats a whole number without a fraction, and any other number with the fewest digits that
    /// parse back to the same value.
    private static func digits(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        if value.rounded() == value, value.magnitude < 9_007_199_254_740_992 {
            return String(Int64(value))
        }
        return String(value)
    }

    /// Writes JSON text that this encoder did not produce, and escapes the bidirectional and other
    /// hidden characters in its strings.
    private static func writeDocument(_ text: String, into out: inout String) {
        guard text.utf8.contains(where: { [0x7F, 0xC2, 0xD8, 0xE2].contains($0) }) else {
            out += text
            return
        }
        for scalar in text.unicodeScalars {
            // Control characters below 0x7F are not escaped, because valid JSON has them only
            // between values.
            if scalar.value >= 0x7F, VisibleText.controlsTerminal(scalar) {
                escape(scalar, into: &out)
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
    }

    private static func escape(_ scalar: UnicodeScalar, into out: inout String) {
        let digits = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }

    /// Writes a quoted string, with control and bidirectional characters escaped.
    private static func write(_ text: String, into out: inout String) {
        out += "\""
        defer { out += "\"" }
        guard text.utf8.contains(where: isSpecial) else {
            out += text
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case _ where VisibleText.controlsTerminal(scalar): escape(scalar, into: &out)
            default: out.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a byte may start a character that must be escaped.
    ///
    /// In UTF-8, control characters above 0x7F start with 0xC2, and bidirectional controls and line
    /// separators with 0xD8 or 0xE2.
    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || [0x22, 0x5C, 0x7F, 0xC2, 0xD8, 0xE2].contains(byte)
    }
}

// MARK: - Converting values to JSON

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral text: String) { self = .text(text) }
    init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(members.map { (name: $0.0, value: $0.1) })
    }

    /// A string, or null.
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    /// A count.
    init(_ value: Int) { self = .integer(Int64(value)) }
    /// A count, or null.
    init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    /// A position or another unsigned number.
    init(_ value: UInt64) { self = .unsigned(value) }
    /// A Boolean.
    init(_ value: Bool) { self = .bool(value) }
    /// A duration in seconds, rounded to microseconds.
    init(seconds value: Double) { self = .number((value * 1e6).rounded() / 1e6) }
}
