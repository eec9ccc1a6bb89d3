/// Escapes characters that could affect a terminal, in text from files, servers and other users.
///
/// All printed text is escaped, because an escape sequence in a server's message must not move the
/// cursor, and a bidirectional character must not hide part of a line.
enum VisibleText {
    /// Returns text for use in one line: line breaks and tabs become spaces, and hidden characters
    /// are escaped, such as `\u{1B}`.
    static func line(_ text: String) -> String { visible(text, isLine: true) }

    /// Returns text for use in several lines: line breaks and tabs are kept, and all other hidden
    /// characters are escaped.
    static func lines(_ text: String) -> String { visible(text, isLine: false) }

    private static func visible(_ text: String, isLine: Bool) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n", "\t": out.append(isLine ? " " : scalar)
            case "\r" where isLine: out.append(" ")
            case _ where isHidden(scalar):
                out.append(
                    contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                        .unicodeScalars)
            default: out.append(scalar)
            }
        }
        return String(out)
    }

    /// Returns whether a character could affect a terminal or the direction of text.
    ///
    /// Such characters are control characters, line and paragraph separators, and the marks,
    /// embeddings, overrides and isolates of the Unicode Bidirectional Algorithm (UAX #9).
    static func isHidden(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
