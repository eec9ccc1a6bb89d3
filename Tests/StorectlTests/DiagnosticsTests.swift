import Foundation
import TestSupport
import Testing

@testable import StorectlCommands

/// Text from files, servers or other people never controls the terminal.
@Suite(.offTasks) struct DiagnosticsTests {
    /// Every character that controls a terminal or changes the direction of text.
    private static let hidden: [UnicodeScalar] =
        (Array(0..<0x20) + Array(0x7F...0x9F) + [0x061C, 0x200E, 0x200F] + Array(0x2028...0x202E)
        + Array(0x2066...0x2069)).compactMap { UnicodeScalar($0 as UInt32) }

    private func isVisible(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0 != "\n" && Self.hidden.contains($0) }
    }

    @Test func hiddenCharactersAreEscaped() {
        for scalar in Self.hidden {
            let text = VisibleText.line("a\(Character(scalar))b")
            let isSpace = ["\n", "\t", "\r"].contains(scalar)
            let code = String(scalar.value, radix: 16, uppercase: true)
            #expect(text == (isSpace ? "a b" : "a\\u{\(code)}b"))
            #expect(isVisible(JSON.text(text).line))
            #expect(isVisible(JSON.text("a\(Character(scalar))b").line))
        }
        #expect(VisibleText.line("Zoë, 日本, 👩‍👩‍👧, ٤") == "Zoë, 日本, 👩‍👩‍👧, ٤")
    }

    @Test func reportsEscapeHostilePaths() throws {
        let storectl = try Storectl.empty()
        let store = storectl.directory.path + "/\u{1B}[2J\u{202E}evil"
        for arguments in [["init"], ["status"], ["backup", store + ".copy"], ["erase", "--yes"]] {
            let run = try storectl.run(arguments + ["--store", store])
            #expect(run.exit == 0, "\(run)")
            #expect(isVisible(run.stdout.replacing("\t", with: " ")), "\(run)")
        }
    }

    @Test func errorsAndHintsEscapeHostileNames() throws {
        let storectl = try Storectl.empty()
        let name = "\u{1B}[2J\u{202E}evil\u{200F}\nerror: forged"
        for arguments in [
            ["show", name], ["remote", "remove", name, "--yes"], ["append", name, "{}"],
            ["import", storectl.directory.path + "/" + name],
            ["query", "videos", "--cursor", name],
            ["sync", name], [name],
        ] {
            for more in [[], ["--json"]] {
                let run = try storectl.run(arguments + more)
                #expect(run.exit != 0)
                #expect(isVisible(run.stderr), "\(arguments): \(run.stderr.debugDescription)")
                #expect(isVisible(run.stdout), "\(arguments): \(run.stdout.debugDescription)")
                #expect(!run.stderr.contains("\nerror: forged"))
            }
        }
        let lines = storectl.directory.path + "/lines"
        try Data("{\"type\":\"\\u001b[31mx\\u202e\"}\n".utf8).write(to: URL(fileURLWithPath: lines))
        #expect(isVisible(try storectl.run("append", "--file", lines).stderr))
    }
}
