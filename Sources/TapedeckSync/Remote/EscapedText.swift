/// A text at one stage of decoding: code points, each with the part of the original text from which
/// it was decoded.
///
/// A remote may escape a text for JSON, HTML or a URL several times and each character in another
/// way, so each stage decodes one level of every escape that it contains.
struct EscapedText {
    struct Unit {
        /// A code point; half of a surrogate pair if the other half is missing.
        var code: UInt32
        var original: Range<Int>
    }

    private(set) var units: [Unit]

    /// The maximum number of stages, in case a text consists of escapes of escapes.
    private static let stagesMax = 8

    init(_ text: String) {
        units = text.unicodeScalars.enumerated().map {
            Unit(code: $1.value, original: $0..<$0 + 1)
        }
    }

    /// Returns a text and everything that it becomes when it is decoded repeatedly.
    static func stages(of text: String) -> [EscapedText] {
        var stages = [EscapedText(text)]
        while stages.count < stagesMax, let next = stages.last?.decoded() { stages.append(next) }
        return stages
    }

    /// Returns the text with its escapes decoded; nil if it has none.
    private func decoded() -> EscapedText? {
        var result = EscapedText("")
        var bytes: [(value: UInt8, original: Range<Int>)] = []
        var position = 0
        while position < units.count {
            guard let (escape, count) = escape(at: position) else {
                result.add(bytes)
                bytes = []
                result.units.append(units[position])
                position += 1
                continue
            }
            let original = original(position..<position + count)
            position += count
            if case .byte(let value) = escape {
                bytes.append((value, original))
                continue
            }
            result.add(bytes)
            bytes = []
            if case .code(let code) = escape { result.add(code, original) }
        }
        result.add(bytes)
        return result.units.count == units.count ? nil : result
    }

    /// The part of the original text from which a part of this text was decoded.
    func original(_ part: Range<Int>) -> Range<Int> {
        units[part.lowerBound].original.lowerBound..<units[part.upperBound - 1].original.upperBound
    }

    /// Appends a code point; the second half of a surrogate pair completes the first one.
    private mutating func add(_ code: UInt32, _ original: Range<Int>) {
        if let high = units.last, high.code >> 10 == 0x36, code >> 10 == 0x37 {
            units[units.count - 1] = Unit(
                code: 0x10000 + (high.code & 0x3FF) << 10 + code & 0x3FF,
                original: high.original.lowerBound..<original.upperBound)
        } else {
            units.append(Unit(code: code, original: original))
        }
    }

    /// Appends text that was escaped byte by byte; bytes that are not UTF-8 are read as Latin-1.
    private mutating func add(_ bytes: [(value: UInt8, original: Range<Int>)]) {
        var position = 0
        while position < bytes.count {
            let first = bytes[position]
            let length = max(1, (~first.value).leadingZeroBitCount)
            let end = min(position + length, bytes.count)
            let scalar = String(validating: bytes[position..<end].map(\.value), as: UTF8.self)?
                .unicodeScalars.first
            let count = scalar == nil ? 1 : length
            units.append(
                Unit(
                    code: scalar?.value ?? UInt32(first.value),
                    original: first.original
                        .lowerBound..<bytes[position + count - 1].original.upperBound))
            position += count
        }
    }

    // MARK: - Escapes

    private enum Escape {
        /// A code point or half of a surrogate pair.
        case code(UInt32)
        /// A byte of UTF-8.
        case byte(UInt8)
    }

    private func character(at position: Int) -> Character? {
        guard position < units.count, units[position].code < 0x80 else { return nil }
        return Character(Unicode.Scalar(UInt8(units[position].code)))
    }

    /// Returns the escape at a position and its length; nil if there is none.
    private func escape(at position: Int) -> (Escape, count: Int)? {
        switch character(at: position) {
        case "%":
            if let byte: UInt8 = number(at: position + 1, 2, 16) { return (.byte(byte), 3) }
            guard character(at: position + 1) == "u" else { return nil }
            return number(at: position + 2, 4, 16).map { (.code($0), 6) }
        case "\\": return backslash(at: position)
        case "&": return entity(at: position)
        default: return nil
        }
    }

    private func backslash(at position: Int) -> (Escape, count: Int)? {
        if let byte: UInt8 = number(at: position + 1, 3, 8) { return (.byte(byte), 4) }
        guard let mark = character(at: position + 1) else { return nil }
        if mark == "x" { return number(at: position + 2, 2, 16).map { (.byte($0), 4) } }
        if mark == "u", character(at: position + 2) == "{" {
            guard
                let end = (position + 4..<position + 10).first(where: { character(at: $0) == "}" })
            else { return nil }
            let digits = end - position - 3
            return number(at: position + 3, digits, 16).map { (.code($0), digits + 4) }
        }
        if mark == "u" { return number(at: position + 2, 4, 16).map { (.code($0), 6) } }
        return EscapedText.controls[mark].map { (.code($0.value), 2) }
    }

    private func entity(at position: Int) -> (Escape, count: Int)? {
        let isNumber = character(at: position + 1) == "#"
        let begin = position + (isNumber ? 2 : 1)
        let end = (begin..<begin + EscapedText.entityCharactersMax).first {
            character(at: $0).map { $0 != ";" && ($0.isLetter || $0.isNumber) } != true
        }
        guard let end, end > begin else { return nil }
        let name = String((begin..<end).compactMap(character))
        let code =
            if !isNumber {
                EscapedText.entities[name]
            } else if name.first == "x" || name.first == "X" {
                UInt32(name.dropFirst(), radix: 16)
            } else {
                UInt32(name)
            }
        guard let code, code <= 0x10FFFF else { return nil }
        return (.code(code), end - position + (character(at: end) == ";" ? 1 : 0))
    }

    /// Returns the number whose digits are at a position; nil if there are fewer than `count`.
    private func number<N: FixedWidthInteger>(
        at position: Int, _ count: Int, _ radix: Int
    ) -> N? {
        let digits = (position..<position + count).compactMap(character)
        guard digits.count == count, digits.allSatisfy(\.isHexDigit) else { return nil }
        return N(String(digits), radix: radix)
    }

    /// Returns the length of an incomplete escape at a position, such as `%4` at the end of a
    /// shortened text.
    func incompleteEscape(at position: Int) -> Int {
        guard let mark = character(at: position), "%\\&".contains(mark) else { return 0 }
        let rest = (position + 1..<position + EscapedText.entityCharactersMax).prefix {
            character(at: $0).map { $0 == "#" || $0.isLetter || $0.isNumber } == true
        }
        return 1 + rest.count
    }

    /// The maximum number of characters between `&` and `;`.
    private static let entityCharactersMax = 10

    /// The characters that a character after a backslash represents.
    private static let controls: [Character: Unicode.Scalar] = [
        "\"": "\"", "'": "'", "\\": "\\", "/": "/", "b": "\u{8}", "f": "\u{C}", "n": "\n",
        "r": "\r", "t": "\t",
    ]

    /// The named entities of HTML for ASCII and Latin-1 (HTML Standard, "Named character
    /// references").
    private static let entities: [String: UInt32] = {
        var entities: [String: UInt32] = [:]
        let latin1 = """
            nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg \
            plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 \
            iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml \
            Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash \
            Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring \
            aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve \
            oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml
            """
        for (index, name) in latin1.split(separator: " ").enumerated() {
            entities[String(name)] = 0xA0 + UInt32(index)
        }
        let ascii: KeyValuePairs<Unicode.Scalar, String> = [
            "\t": "Tab", "\n": "NewLine", "!": "excl", "\"": "quot QUOT", "#": "num",
            "$": "dollar", "%": "percnt", "&": "amp AMP", "'": "apos", "(": "lpar", ")": "rpar",
            "*": "ast midast", "+": "plus", ",": "comma", ".": "period", "/": "sol",
            ":": "colon", ";": "semi", "<": "lt LT", "=": "equals", ">": "gt GT", "?": "quest",
            "@": "commat", "[": "lsqb lbrack", "\\": "bsol", "]": "rsqb rbrack", "^": "Hat",
            "_": "lowbar", "`": "grave", "{": "lcub lbrace", "|": "verbar vert",
            "}": "rcub rbrace",
        ]
        for (scalar, names) in ascii {
            for name in names.split(separator: " ") { entities[String(name)] = scalar.value }
        }
        return entities
    }()
}
