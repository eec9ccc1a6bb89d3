package import TapedeckModel

/// A JSON parser (RFC 8259) that reports where a document is invalid.
///
/// Foundation's parser does not report a line for every error, fails entirely on numbers that a
/// double cannot represent, and limits neither depth nor size. In this parser:
///
/// 1. Nesting depth is limited, so deeply nested input causes an error instead of a stack overflow.
/// 2. Strings must be valid UTF-8, and surrogate pairs must be complete.
/// 3. Numbers are kept as strings; the caller decides which type they have to fit.
/// 4. A leading byte-order mark is skipped.
package struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var at = 0
    private var depth = 0
    private var members: [Member] = []

    /// The maximum nesting depth of lists and objects.
    package static let depthMax = 128

    /// A member of the outermost object, with its location.
    package struct Member {
        /// The unescaped name.
        package let name: String
        /// The byte range of the name, colon and value in the document.
        package let range: Range<Int>
    }

    /// Parses a document.
    ///
    /// Throws `ModelError` with `.malformedJSON` and the line and column, or `.tooLarge` if the
    /// document is nested deeper than `depthMax` or has more than `bytesMax` bytes.
    package static func parse(
        _ bytes: [UInt8], bytesMax: Int = .max
    ) throws(ModelError) -> JSONValue {
        try parseWithMembers(bytes, bytesMax: bytesMax).value
    }

    /// Parses a document, and also returns the members of the outermost object with their
    /// locations.
    package static func parseWithMembers(
        _ bytes: [UInt8], bytesMax: Int = .max
    ) throws(ModelError) -> (value: JSONValue, members: [Member]) {
        guard bytes.count <= bytesMax else {
            throw ModelError(
                .tooLarge, "the JSON is \(bytes.count) bytes long; the limit is \(bytesMax)")
        }
        let result: Result<(JSONValue, [Member]), ModelError> = bytes.withUnsafeBufferPointer {
            buffer in
            var parser = JSONParser(bytes: buffer)
            return Result { () throws(ModelError) in try parser.document() }
        }
        return try result.get()
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private mutating func document() throws(ModelError) -> (JSONValue, [Member]) {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { at = 3 }
        skipSpace()
        guard at < bytes.count else { throw error("the document is empty") }
        let value = try value()
        skipSpace()
        guard at == bytes.count else { throw error("unexpected content after the document") }
        return (value, members)
    }

    private mutating func value() throws(ModelError) -> JSONValue {
        skipSpace()
        guard at < bytes.count else { throw error("unexpected end of the document") }
        switch bytes[at] {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return .number(try number())
        default: throw error("expected a value")
        }
    }

    private mutating func object() throws(ModelError) -> JSONValue {
        try enter()
        var object: [String: JSONValue] = [:]
        if try !leave(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                let start = at
                guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else {
                    throw error("expected a member name")
                }
                let name = try string()
                skipSpace()
                guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else {
                    throw error("expected a colon after a member name")
                }
                at += 1
                object[name] = try value()
                if depth == 1 { members.append(Member(name: name, range: start..<at)) }
            } while try !next(UInt8(ascii: "}"))
        }
        return .object(object)
    }

    private mutating func array() throws(ModelError) -> JSONValue {
        try enter()
        var array: [JSONValue] = []
        if try !leave(UInt8(ascii: "]")) {
            repeat { array.append(try value()) } while try !next(UInt8(ascii: "]"))
        }
        return .array(array)
    }

    /// Skips an opening bracket.
    private mutating func enter() throws(ModelError) {
        guard depth < JSONParser.depthMax else {
            throw ModelError(
                .tooLarge, "\(place()): JSON is nested deeper than \(JSONParser.depthMax)")
        }
        depth += 1
        at += 1
    }

    /// Skips `bracket` if it is the next character; returns false if another character is next.
    private mutating func leave(_ bracket: UInt8) throws(ModelError) -> Bool {
        skipSpace()
        guard at < bytes.count, bytes[at] == bracket else { return false }
        at += 1
        depth -= 1
        return true
    }

    /// Skips a comma or `bracket`; returns true for `bracket` and false for a comma.
    private mutating func next(_ bracket: UInt8) throws(ModelError) -> Bool {
        if try leave(bracket) { return true }
        guard at < bytes.count else { throw error("unexpected end of the document") }
        guard bytes[at] == UInt8(ascii: ",") else { throw error("expected a comma") }
        at += 1
        return false
    }

    private mutating func word(
        _ word: StaticString, _ value: JSONValue
    ) throws(ModelError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard at + index < bytes.count, bytes[at + index] == word.utf8Start[index] else {
                throw error("expected a value")
            }
        }
        at += word.utf8CodeUnitCount
        return value
    }

    private mutating func number() throws(ModelError) -> String {
        let start = at
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        let whole = at
        try digits()
        guard bytes[whole] != 0x30 || at == whole + 1 else {
            at = whole
            throw error("a number has a leading zero")
        }
        if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
            at += 1
            try digits()
        }
        if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            at += 1
            if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") {
                at += 1
            }
            try digits()
        }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func digits() throws(ModelError) {
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
        guard at > start else { throw error("expected a digit") }
    }

    private mutating func skipSpace() {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return
            }
        }
    }
}

// MARK: - Strings and locations

extension JSONParser {
    private mutating func string() throws(ModelError) -> String {
        at += 1
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\"),
            bytes[at] >= 0x20
        {
            at += 1
        }
        if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
            defer { at += 1 }
            return try text(bytes[start..<at], start)
        }
        var out = Array(bytes[start..<at])
        while true {
            guard at < bytes.count else { throw error("a string is not terminated") }
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "\""):
                defer { at += 1 }
                return try text(out[...], start)
            case UInt8(ascii: "\\"):
                at += 1
                try escape(&out)
            case ..<0x20: throw error("a string contains an unescaped control character")
            default:
                out.append(byte)
                at += 1
            }
        }
    }

    private func text(
        _ bytes: some Collection<UInt8>, _ start: Int
    ) throws(ModelError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw error("a string is not valid UTF-8", at: start)
        }
        return text
    }

    private mutating func escape(_ out: inout [UInt8]) throws(ModelError) {
        guard at < bytes.count else { throw error("a string is not terminated") }
        let byte = bytes[at]
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0C)
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = UInt32(try hexUnit())
            if (0xD800..<0xDC00).contains(scalar), at + 1 < bytes.count,
                bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u")
            {
                at += 2
                let low = UInt32(try hexUnit())
                guard (0xDC00..<0xE000).contains(low) else { throw error("unpaired surrogate") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = UnicodeScalar(scalar) else { throw error("unpaired surrogate") }
            out.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
        default: throw error("unknown escape sequence", at: at - 1)
        }
    }

    private mutating func hexUnit() throws(ModelError) -> UInt16 {
        guard at + 4 <= bytes.count, bytes[at..<at + 4].allSatisfy(\.isHexDigit),
            let unit = UInt16(String(decoding: bytes[at..<at + 4], as: UTF8.self), radix: 16)
        else { throw error("\\u without four hexadecimal digits") }
        at += 4
        return unit
    }

    private func error(_ what: String, at place: Int? = nil) -> ModelError {
        ModelError(.malformedJSON, "\(self.place(place)): \(what)")
    }

    /// Returns `line L, column C`, where both numbers start at 1 and columns count bytes.
    private func place(_ offset: Int? = nil) -> String {
        let before = bytes[..<min(offset ?? at, bytes.count)]
        let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        return "line \(line), column \(column)"
    }
}
