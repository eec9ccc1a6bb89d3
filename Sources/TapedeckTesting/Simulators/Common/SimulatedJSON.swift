/// A JSON value; objects keep the order of their members, so that the same world produces the same
/// bytes.
enum SimulatedJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case text(String)
    case array([SimulatedJSON])
    case object([Member])

    struct Member: Hashable, Sendable {
        var name: String
        var value: SimulatedJSON
    }

    /// Returns the string as JSON, or null if it is nil.
    static func optional(_ text: String?) -> SimulatedJSON { text.map { .text($0) } ?? .null }

    /// Returns the number as JSON, or null if it is nil.
    static func optional(_ number: Int64?) -> SimulatedJSON { number.map { .int($0) } ?? .null }

    static func count(_ number: Int) -> SimulatedJSON { .int(Int64(number)) }

    /// Returns the object with `members` appended.
    func adding(_ members: KeyValuePairs<String, SimulatedJSON>) -> SimulatedJSON {
        guard case .object(let own) = self else { return self }
        return .object(own + members.map { Member(name: $0.key, value: $0.value) })
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .int(let value): bytes += String(value).utf8
        case .double(let value): bytes += String(value).utf8
        case .text(let value): SimulatedJSON.quote(value, &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                SimulatedJSON.quote(member.name, &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ text: String, _ bytes: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: bytes += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension SimulatedJSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    init(dictionaryLiteral elements: (String, SimulatedJSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
    init(arrayLiteral elements: SimulatedJSON...) { self = .array(elements) }
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int64) { self = .int(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(nilLiteral: ()) { self = .null }
}
