/// The readable text of an HTML summary.
///
/// A summary consists of a few sentences in `p`, `b`, `i` and `br`, so a simple scan suffices: tags
/// and comments are removed, references are decoded, and whitespace is collapsed. A paragraph or a
/// `br` starts a new line. Parsing never fails: invalid HTML also yields text.
package struct PlainText {
    /// The text; nil if it is empty, as for `<p></p>`.
    package let text: String?

    /// The tags that start a new line.
    private static let breaks: Set<String> = ["p", "br", "div", "li", "ul", "ol", "h1", "h2", "h3"]

    /// Parses HTML.
    package init(html: String) {
        var lines = [""]
        var isSpacePending = false
        var rest = html[...]
        func add(_ character: Character) {
            if character.isWhitespace {
                isSpacePending = true
                return
            }
            if isSpacePending, !lines[lines.count - 1].isEmpty { lines[lines.count - 1] += " " }
            isSpacePending = false
            lines[lines.count - 1].append(character)
        }
        while let character = rest.first {
            if character == "<", let (name, end) = PlainText.tag(rest) {
                rest = rest[end...]
                if PlainText.breaks.contains(name), !lines[lines.count - 1].isEmpty {
                    lines.append("")
                }
            } else if character == "&", let (decoded, end) = PlainText.reference(rest) {
                rest = rest[end...]
                decoded.forEach(add)
            } else {
                rest = rest.dropFirst()
                add(character)
            }
        }
        let text = lines.filter { !$0.isEmpty }.joined(separator: "\n")
        self.text = text.isEmpty ? nil : text
    }

    /// Returns the lowercase name and the end of the tag at the start of `text`; nil if there is
    /// none.
    ///
    /// A `<` that is not followed by a letter, a slash or `!` is text, as in `a < b`.
    private static func tag(_ text: Substring) -> (name: String, end: Substring.Index)? {
        var inside = text.dropFirst()
        if inside.hasPrefix("!--") {
            let end = inside.firstRange(of: "-->")?.upperBound ?? inside.endIndex
            return ("", end)
        }
        if inside.first == "/" { inside = inside.dropFirst() }
        guard let first = inside.first, first.isASCII, first.isLetter || first == "!" else {
            return nil
        }
        let name = inside.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }.lowercased()
        // As in browsers, a tag that is not closed extends to the end of the text.
        guard let close = inside.firstIndex(of: ">") else { return (name, inside.endIndex) }
        return (name, inside.index(after: close))
    }

    /// The maximum length of a reference, in characters.
    private static let referenceLengthMax = 12

    /// Returns the decoded reference at the start of `text`, and its end; nil if there is none.
    private static func reference(_ text: Substring) -> (String, Substring.Index)? {
        guard let semicolon = text.prefix(referenceLengthMax).firstIndex(of: ";") else {
            return nil
        }
        let name = text[text.index(after: text.startIndex)..<semicolon]
        let end = text.index(after: semicolon)
        guard name.hasPrefix("#") else { return named[String(name)].map { ($0, end) } }
        let digits = name.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        guard
            let value = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        else { return nil }
        // Invalid characters and NUL are replaced by the replacement character.
        let scalar = UnicodeScalar(value).flatMap { value == 0 ? nil : $0 } ?? "\u{FFFD}"
        return (String(Character(scalar)), end)
    }

    /// The named references that occur in prose.
    private static let named: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}",
        "ndash": "–", "mdash": "—", "hellip": "…", "lsquo": "‘", "rsquo": "’", "ldquo": "“",
        "rdquo": "”", "sbquo": "‚", "bdquo": "„", "laquo": "«", "raquo": "»", "bull": "•",
        "middot": "·", "copy": "©", "reg": "®", "trade": "™", "deg": "°", "euro": "€",
        "pound": "£", "cent": "¢", "yen": "¥", "sect": "§", "times": "×", "frac12": "½",
        "agrave": "à", "aacute": "á", "acirc": "â", "atilde": "ã", "auml": "ä", "aring": "å",
        "aelig": "æ", "ccedil": "ç", "egrave": "è", "eacute": "é", "ecirc": "ê", "euml": "ë",
        "igrave": "ì", "iacute": "í", "icirc": "î", "iuml": "ï", "ntilde": "ñ", "ograve": "ò",
        "oacute": "ó", "ocirc": "ô", "otilde": "õ", "ouml": "ö", "oslash": "ø", "ugrave": "ù",
        "uacute": "ú", "ucirc": "û", "uuml": "ü", "yacute": "ý", "szlig": "ß", "Agrave": "À",
        "Aacute": "Á", "Acirc": "Â", "Atilde": "Ã", "Auml": "Ä", "Aring": "Å", "AElig": "Æ",
        "Ccedil": "Ç", "Egrave": "È", "Eacute": "É", "Ecirc": "Ê", "Euml": "Ë", "Ntilde": "Ñ",
        "Oacute": "Ó", "Ocirc": "Ô", "Ouml": "Ö", "Oslash": "Ø", "Uacute": "Ú", "Uuml": "Ü",
    ]
}
