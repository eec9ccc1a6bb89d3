internal import Foundation
internal import Tapedeck

/// Where passwords and tokens come from: a file, a terminal without echo, or one line of stdin.
///
/// They are never arguments, which every process of the machine may read, and never part of an error.
enum SecretInput {
    /// What is longer is no secret but the wrong file.
    private static let bytesMax = 4_096

    // MARK: - Files

    /// The lines of a file, without an empty end.
    ///
    /// - Parameter what: names the file in errors, such as `the password file`.
    static func lines(ofFile path: String, _ what: String) throws -> [String] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw CommandError(
                errno == EACCES ? .accessDenied : .notFound,
                "\(what) \(path) cannot be read: \(String(cString: strerror(errno)))",
                hint: "check the path and who may read it")
        }
        defer { _ = close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: bytesMax + 1)
        while bytes.count <= bytesMax {
            let count = Foundation.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandError(
                    .inputOutput,
                    "\(what) \(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            bytes += chunk.prefix(count)
        }
        guard bytes.count <= bytesMax, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError(
                .usage, "\(what) \(path) holds more than \(bytesMax) bytes, or no text",
                hint: "look whether it is the right file")
        }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            String($0.hasSuffix("\r") ? $0.dropLast() : $0)
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// The one line of a password file; spaces in it count.
    static func password(inFile path: String) throws -> String {
        let lines = try lines(ofFile: path, "the password file")
        guard lines.count == 1, !lines[0].isEmpty else {
            throw CommandError(
                .usage,
                "the password file \(path) holds \(Figures.count(lines.count, "line")), not one",
                hint: "write the password into it, and nothing else")
        }
        return lines[0]
    }

    // MARK: - Terminal

    /// Asks for a secret where stdin is a terminal; else takes a line of it.
    static func secret(_ prompt: String) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try line(of: prompt) }
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return try line(of: prompt) }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // A terminal must not stay without echo, whatever ends the question.
        Interruption.remember()
        defer {
            tcsetattr(STDIN_FILENO, TCSANOW, &shown)
            StandardOutput.diagnose("")
        }
        StandardOutput.draw("\(VisibleText.line(prompt)): ")
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
            throw CommandError(
                .inputOutput, "the terminal would show what is typed",
                hint: "put it into a file, and name that")
        }
        let typed = try line(of: prompt)
        Interruption.forget()
        return typed
    }

    /// Asks for what may be seen, at a terminal only.
    static func answer(_ prompt: String) throws -> String {
        StandardOutput.draw("\(VisibleText.line(prompt)): ")
        return try line(of: prompt)
    }

    private static let pauseMilliseconds: Int32 = 100

    static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// A line of stdin and not a byte more: what follows is another program's.
    private static func line(of what: String) throws -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count <= bytesMax {
            // A signal may come to another thread than the one that waits here.
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, pauseMilliseconds)
            if Interruption.isRequested { throw CancellationError() }
            guard ready > 0 else { continue }
            let count = Foundation.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != 0x0A else { break }
            bytes.append(byte)
        }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self), bytes.count <= bytesMax else {
            throw CommandError(.usage, "the \(what) on stdin is too long, or no text")
        }
        return text
    }
}

/// Asks before something is given up.
enum Consent {
    /// Goes on where `yes` was given or the user says so.
    ///
    /// - Parameter would: what is to happen, to follow "this would".
    static func require(_ yes: Bool, would: String, hint: String) throws {
        if yes { return }
        guard SecretInput.isTerminal else {
            throw CommandError(
                .usage, "this would \(would), and there is no terminal to ask at",
                hint: "--yes does it without asking; \(hint)")
        }
        StandardOutput.diagnose("This would \(would).")
        let answer = try SecretInput.answer("Go on? [y/N]").lowercased()
        guard answer == "y" || answer == "yes" else {
            throw CommandError(.usage, "nothing was changed", hint: hint)
        }
    }
}
