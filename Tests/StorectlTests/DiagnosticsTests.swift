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

    /// Two texts that differ must not look alike.
    @Test(
        arguments: [
            0xFEFF, 0x200B, 0x200C, 0x200D, 0x00AD, 0x2060, 0x180E, 0x034F, 0x115F, 0x3164, 0xFE0F,
            0xE000, 0x0378, 0xE0041, 0xE0100, 0xFFF9, 0x10FFFF,
        ] as [UInt32]) func invisibleCharactersAreEscaped(_ value: UInt32) throws
    {
        let scalar = try #require(UnicodeScalar(value))
        let code = String(value, radix: 16, uppercase: true)
        for (before, after) in [("a", "b"), ("a", ""), ("", "b"), ("1", "2"), (" ", " ")] {
            let text = "\(before)\(scalar)\(after)"
            let escaped = "\(before)\\u{\(code)}\(after)"
            #expect(VisibleText.line(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
            #expect(VisibleText.lines(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
            // JSON escapes only characters that control a terminal or the direction of text.
            #expect(JSON.text(text).line.unicodeScalars.contains(scalar))
        }
    }

    /// Emoji and some scripts need joiners and variation selectors.
    @Test(arguments: [
        "👩‍👩‍👧", "🏳️‍🌈", "👩🏽‍⚕️", "❤️ ❤︎", "1️⃣ #️⃣", "👋🏿", "🇩🇪",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "می\u{200C}خواهم",
        "क्\u{200D}ष", "葛\u{E0100}", "Zoë e\u{301} 日本 ٤ \u{A0}",
    ]) func visibleTextStays(_ text: String) {
        #expect(VisibleText.line(text).unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    /// A joiner or selector that no emoji needs is hidden, also next to emoji.
    @Test(arguments: [
        ("😀\u{FE0F}\u{FE0F}", "😀\u{FE0F}\\u{FE0F}"), ("😀\u{200D}", "😀\\u{200D}"),
        ("😀\u{200D}a", "😀\\u{200D}a"), ("a\u{200D}😀", "a\\u{200D}😀"),
        ("a\u{FE0F}\u{200D}😀", "a\\u{FE0F}\\u{200D}😀"), ("1\u{FE0F}", "1\\u{FE0F}"),
        ("🏴\u{E0061}", "🏴\\u{E0061}"), ("a\u{200C}خ", "a\\u{200C}خ"),
    ]) func needlessJoinersAreEscaped(_ text: String, _ escaped: String) {
        #expect(VisibleText.line(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
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

    /// Returns the arguments that a shell passes to `storectl` or `chmod` when it runs a command.
    private func words(of command: String) throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        let script = #"show() { printf '%s\0' "$@"; }; storectl() { show "$@"; }; "#
        process.arguments = ["-c", script + #"chmod() { show "$@"; }; "# + command]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        return text.split(separator: "\0").map(String.init)
    }

    @Test func printedCommandsCanBePasted() throws {
        let storectl = try Storectl()
        let folder = storectl.directory.path + "/it's $HOME's \u{202E}folder;"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        let server = try storectl.start(["serve", "--data", folder + "/data", "--port", "0"])
        #expect(try server.waitForOutput("\n"))
        let serving = try words(of: try server.stdoutSoFar)
        #expect(serving.first == "sync" && serving.count == 4)
        #expect(serving.dropFirst(2) == ["--token-file", folder + "/data/token"])
        server.send(SIGTERM)
        #expect(try server.wait().exit == 0)

        let store = folder + "/store"
        #expect(try storectl.run("init", "--store", store).exit == 0)
        chmod(store, 0o755)
        let doctor = try storectl.run("doctor", "--store", store)
        let line = try #require(
            doctor.stdout.split(separator: "\n").first { $0.contains("chmod 700") })
        #expect(try words(of: line.trimmingCharacters(in: .whitespaces)) == ["700", store])
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
