/// Quotes text for printed commands, so that users can paste the commands into a shell.
package enum ShellWord {
    /// Returns `text` as one word for a POSIX shell; unchanged if it contains no special character.
    ///
    /// Characters that are invisible in a terminal are written as escapes inside `$'…'`, a form
    /// that bash, zsh and shells that follow POSIX.1-2024 understand.
    package static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(isPlain) { return text }
        let escapes = text.unicodeScalars.contains(where: isHidden)
        var word = escapes ? "$'" : "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'" where !escapes: word += #"'\''"#
            case _ where escapes && (scalar == "'" || scalar == #"\"#):
                word += #"\"# + String(scalar)
            case _ where isHidden(scalar):
                // Three octal digits, so that a digit that follows is not part of the escape.
                for byte in String(scalar).utf8 {
                    let digits = String(byte, radix: 8)
                    word += #"\"# + String(repeating: "0", count: 3 - digits.count) + digits
                }
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "_@%+=:,./-".utf8.contains(byte)
        }
    }

    private static func isHidden(_ scalar: UnicodeScalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        return switch scalar.properties.generalCategory {
        case .control, .format, .privateUse, .unassigned, .surrogate, .lineSeparator,
            .paragraphSeparator:
            true
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }
}
