/// The number of terminal columns that a string occupies.
enum DisplayWidth {
    static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Returns the text, shortened with an ellipsis if it is wider than `width`.
    static func cut(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        var out = ""
        var taken = 0
        for character in text {
            let next = of(character)
            guard taken + next < width else { break }
            out.append(character)
            taken += next
        }
        return out + "…"
    }

    /// Breaks the text into lines at spaces; a word wider than `width` gets its own line.
    static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if !line.isEmpty, of(line) + 1 + of(String(word)) > width {
                lines.append(line)
                line = String(word)
            } else {
                line += (line.isEmpty ? "" : " ") + word
            }
        }
        return lines + [line]
    }

    /// Returns 2 for East Asian wide characters and emoji, and 1 for other characters.
    private static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
