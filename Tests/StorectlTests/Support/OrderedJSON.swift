import Foundation

/// A JSON document whose members keep their order.
indirect enum OrderedJSON: Equatable {
    struct Member: Equatable {
        let name: String
        let value: OrderedJSON
    }

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([OrderedJSON])
    case object([Member])

    /// Parses one document; only whitespace may follow it.
    init(parsing text: String) throws {
        var reader = Reader(bytes: Array(text.utf8))
        self = try reader.value()
        reader.skipSpace()
        guard reader.at == reader.bytes.count else {
            throw Malformed(description: "unexpected text after the document: \(text.prefix(200))")
        }
    }

    subscript(_ name: String) -> OrderedJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    subscript(_ index: Int) -> OrderedJSON? {
        guard case .list(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }

    var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var list: [OrderedJSON]? { if case .list(let values) = self { values } else { nil } }

    private struct Reader {
        let bytes: [UInt8]
        var at = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func skipSpace() {
            while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
        }

        private func fail(_ what: String) -> Malformed {
            Malformed(
                description: "\(what) at byte \(at) of"
                    + " \(String(decoding: bytes.prefix(300), as: UTF8.self))")
        }

        mutating func value() throws -> OrderedJSON {
            skipSpace()
            guard at < bytes.count else { throw fail("unexpected end") }
            switch bytes[at] {
            case UInt8(ascii: "{"):
                var members: [Member] = []
                try elements(UInt8(ascii: "}")) { reader in
                    guard case .text(let name) = try reader.value() else {
                        throw reader.fail("missing name")
                    }
                    reader.skipSpace()
                    guard reader.bytes[reader.at] == UInt8(ascii: ":") else {
                        throw reader.fail("missing colon")
                    }
                    reader.at += 1
                    members.append(Member(name: name, value: try reader.value()))
                }
                return .object(members)
            case UInt8(ascii: "["):
                var values: [OrderedJSON] = []
                try elements(UInt8(ascii: "]")) { values.append(try $0.value()) }
                return .list(values)
            default: return try scalar()
            }
        }

        private mutating func elements(
            _ end: UInt8, _ body: (inout Reader) throws -> Void
        ) throws {
            at += 1
            skipSpace()
            if at < bytes.count, bytes[at] == end {
                at += 1
                return
            }
            while true {
                try body(&self)
                skipSpace()
                guard at < bytes.count else { throw fail("unexpected end") }
                at += 1
                if bytes[at - 1] == end { return }
                guard bytes[at - 1] == UInt8(ascii: ",") else { throw fail("missing comma") }
            }
        }

        /// Parses strings, numbers and literals with Foundation.
        private mutating func scalar() throws -> OrderedJSON {
            let start = at
            if bytes[at] == UInt8(ascii: "\"") {
                at += 1
                while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
                    at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
                }
                at += 1
            } else {
                while at < bytes.count, !Array(",]} \n".utf8).contains(bytes[at]) { at += 1 }
            }
            guard at <= bytes.count else { throw fail("unexpected end") }
            let data = Data(bytes[start..<at])
            let value = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            switch value {
            case is NSNull: return .null
            case let text as String: return .text(text)
            case let number as NSNumber:
                let word = String(decoding: data, as: UTF8.self)
                return word == "true" || word == "false"
                    ? .bool(number.boolValue) : .number(number.doubleValue)
            default: throw fail("unexpected value")
            }
        }
    }
}
