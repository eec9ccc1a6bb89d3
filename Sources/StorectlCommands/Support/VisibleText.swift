/// Text from files, servers and other people, made harmless for a terminal.
///
/// Whatever is printed goes through it: an escape sequence in a server's message must not move the cursor, and a
/// character that turns the direction of text must not hide what a line says.
enum VisibleText {
    /// A text as a part of one line: line breaks and tabs are spaces, and what cannot be seen is written as `\u{1B}`.
    static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n", "\t", "\r": out.append(" ")
            case _ where isHidden(scalar):
                out.append(
                    contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                        .unicodeScalars)
            default: out.append(scalar)
            }
        }
        return String(out)
    }

    /// Whether a character steers a terminal or turns the direction of text: the controls, the line and paragraph
    /// separators, and the marks, embeddings, overrides and isolates of the Unicode Bidirectional Algorithm (UAX #9).
    static func isHidden(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
