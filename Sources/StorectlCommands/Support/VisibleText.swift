/// Escapes characters that a reader cannot see, in text from files, servers and other users.
///
/// All printed text is escaped, because an escape sequence in a server's message must not move the
/// cursor, a bidirectional character must not hide part of a line, and two names that differ must
/// not look alike because of a zero-width character.
enum VisibleText {
    /// Returns text for use in one line: line breaks and tabs become spaces, and hidden characters
    /// are escaped, such as `\u{1B}`.
    static func line(_ text: String) -> String { visible(text, isLine: true) }

    /// Returns text for use in several lines: line breaks and tabs are kept, and all other hidden
    /// characters are escaped.
    static func lines(_ text: String) -> String { visible(text, isLine: false) }

    private static func visible(_ text: String, isLine: Bool) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var out = String.UnicodeScalarView()
        let scalars = text.unicodeScalars
        // The previous character; nil if it was escaped.
        var before: UnicodeScalar?
        var index = scalars.startIndex
        while index < scalars.endIndex {
            let scalar = scalars[index]
            if let flag = flags.first(where: { scalars[index...].starts(with: $0) }) {
                out.append(contentsOf: flag)
                scalars.formIndex(&index, offsetBy: flag.count)
                before = nil
                continue
            }
            scalars.formIndex(after: &index)
            let after = index < scalars.endIndex ? scalars[index] : nil
            switch scalar {
            case "\n", "\t": out.append(isLine ? " " : scalar)
            case "\r" where isLine: out.append(" ")
            case _ where isHidden(scalar) && !shapes(scalar, before, after):
                out.append(
                    contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                        .unicodeScalars)
                before = nil
                continue
            default: out.append(scalar)
            }
            before = scalar
        }
        return String(out)
    }

    // MARK: - Hidden characters

    /// Returns whether a character is invisible, affects its neighbours or has no agreed shape.
    private static func isHidden(_ scalar: UnicodeScalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        return switch scalar.properties.generalCategory {
        case .control, .format, .privateUse, .unassigned, .surrogate, .lineSeparator,
            .paragraphSeparator:
            true
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns whether a hidden character changes the shape of its visible neighbours, as joiners
    /// and variation selectors do in emoji and in some scripts.
    ///
    /// - Parameters:
    ///   - before: The previous character; nil if it was escaped.
    ///   - after: The next character.
    private static func shapes(
        _ scalar: UnicodeScalar, _ before: UnicodeScalar?, _ after: UnicodeScalar?
    ) -> Bool {
        guard let before else { return false }
        if scalar.properties.isVariationSelector {
            // Digits are emoji only before a keycap.
            return before.properties.isIdeographic
                || before.properties.isEmoji && (before.value > 0x7F || after == keycap)
        }
        guard scalar.properties.isJoinControl, let after else { return false }
        if joiningScripts.contains(before.value), joiningScripts.contains(after.value) {
            return true
        }
        return scalar == zeroWidthJoiner && after.value > 0x7F && after.properties.isEmoji
            && (before == emojiSelector || before.value > 0x7F && before.properties.isEmoji)
    }

    /// The flags of England, Scotland and Wales, the only emoji that contain tag characters.
    private static let flags = ["gbeng", "gbsct", "gbwls"].map { region -> [UnicodeScalar] in
        let tags = region.unicodeScalars.compactMap { UnicodeScalar(0xE0000 + $0.value) }
        return ["\u{1F3F4}"] + tags + ["\u{E007F}"]
    }
    private static let keycap: UnicodeScalar = "\u{20E3}"
    private static let zeroWidthJoiner: UnicodeScalar = "\u{200D}"
    private static let emojiSelector: UnicodeScalar = "\u{FE0F}"
    /// The blocks from Arabic to Myanmar, in which joiners choose between forms of a letter.
    private static let joiningScripts: ClosedRange<UInt32> = 0x0600...0x109F

    // MARK: - JSON

    /// Returns whether a character could affect a terminal or the direction of text; JSON escapes
    /// only such characters.
    ///
    /// Such characters are control characters, line and paragraph separators, and the marks,
    /// embeddings, overrides and isolates of the Unicode Bidirectional Algorithm (UAX #9).
    static func controlsTerminal(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
