import Foundation
import TapedeckModel
import Testing

/// Printed commands can be pasted into a shell.
struct ShellWordTests {
    private static let texts = [
        "", " ", "a b", "it's", "''", "$HOME `id` \\", "~", "*.mdb", "a;rm -rf /", "[::1]", "a\\'b",
        "\u{1B}[2J", "a\nb\tc", "\u{1B}'7\\", "Zoë 日本", "\u{202E}evil", "a\u{200B}1", "'\u{301}",
        "😀\u{FE0F}", "#", "!!", "a=b c", "(x)", "\u{7F}",
    ]

    @Test(arguments: texts) func aShellReadsTheSameText(_ text: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "printf %s \(ShellWord.quoted(text))"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let read = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(read == Data(text.utf8), "\(ShellWord.quoted(text))")
    }

    @Test(arguments: ["videos", "/srv/tape-deck/log_1.mdb", "http://127.0.0.1:8737", "a@b.example"])
    func usualTextIsNotQuoted(_ text: String) { #expect(ShellWord.quoted(text) == text) }

    /// A terminal would not show such characters, or reports would escape them.
    @Test(arguments: texts) func everyCharacterIsVisible(_ text: String) {
        #expect(
            ShellWord.quoted(text).unicodeScalars.allSatisfy {
                $0.value >= 0x20 && $0.properties.generalCategory != .format && $0.value != 0x7F
            })
    }
}
