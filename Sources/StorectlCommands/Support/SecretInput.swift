internal import Foundation
internal import Tapedeck

/// Reads passwords and tokens from a file, a terminal without echo, or one line of stdin.
///
/// Secrets are never passed as arguments, because other processes can read arguments, and never
/// appear in an error.
enum SecretInput {
    /// The maximum size of a secret; a longer file is assumed to be the wrong file.
    private static let bytesMax = 4_096

    // MARK: - Files

    /// Returns the lines of a file, without blank lines at the end.
    ///
    /// - Parameters:
    ///   - what: The name that errors use for the file, such as `the password file`.
    ///   - isPrivate: Whether to refuse a file to which other users of this machine have access.
    static func lines(
        ofFile path: String, _ what: String, isPrivate: Bool = false
    ) throws -> [String] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw CommandError(
                errno == EACCES ? .accessDenied : .notFound,
                "\(what) \(path) cannot be read: \(String(cString: strerror(errno)))",
                hint: "check the path and its permissions")
        }
        defer { _ = close(file) }
        if isPrivate { try checkIsPrivate(file, path, what) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: bytesMax + 1)
        while bytes.count <= bytesMax {
            let count = Foundation.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandError(
                    .inputOutput,
                    "\(what) \(path) cannot be read: \(String(cString: strerror(errno)))",
                    hint: "check that it is the right file")
            }
            if count == 0 { break }
            bytes += chunk.prefix(count)
        }
        guard bytes.count <= bytesMax, String(validating: bytes, as: UTF8.self) != nil else {
            throw CommandError(
                .usage, "\(what) \(path) is longer than \(bytesMax) bytes or is not text",
                hint: "check that it is the right file")
        }
        // Split the bytes, because Swift treats "\r\n" as one character.
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self)
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private static func checkIsPrivate(_ file: Int32, _ path: String, _ what: String) throws {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & 0o077 != 0 else { return }
        throw CommandError(
            .accessDenied, "other users have access to \(what) \(path)",
            hint: "make it private: chmod 600 \(ShellWord.quoted(path))")
    }

    /// Returns the only line of a password file, including any spaces in it.
    static func password(inFile path: String) throws -> String {
        let lines = try lines(ofFile: path, "the password file")
        guard lines.count == 1, !lines[0].isEmpty else {
            throw CommandError(
                .usage,
                "the password file \(path) contains \(Figures.count(lines.count, "line")), not one",
                hint: "the file must contain only the password")
        }
        return lines[0]
    }

    // MARK: - Terminal

    /// Asks for a secret if stdin is a terminal; otherwise reads a line from stdin.
    static func secret(_ prompt: String) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try line(of: prompt) }
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return try line(of: prompt) }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Echo must be restored even if a signal ends the prompt.
        Interruption.remember()
        defer {
            tcsetattr(STDIN_FILENO, TCSANOW, &shown)
            StandardOutput.diagnose("")
        }
        StandardOutput.draw("\(VisibleText.line(prompt)): ")
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
            throw CommandError(
                .inputOutput, "the terminal cannot hide the password",
                hint: "write it to a file and use --password-file")
        }
        let typed = try line(of: prompt)
        Interruption.forget()
        return typed
    }

    /// Asks a question and returns the answer, which stays visible; for terminals only.
    static func answer(_ prompt: String) throws -> String {
        StandardOutput.draw("\(VisibleText.line(prompt)): ")
        return try line(of: prompt)
    }

    private static let pauseMilliseconds: Int32 = 100

    static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Reads one line from stdin and no byte after it, because the rest may be for another program.
    private static func line(of what: String) throws -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count <= bytesMax {
            // Another thread may receive the signal, so this thread polls for it.
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
            throw CommandError(
                .usage, "the \(what) on stdin is longer than \(bytesMax) bytes or is not text",
                hint: "pass one line of text on stdin")
        }
        return text
    }
}

/// Asks for confirmation before data is lost.
enum Consent {
    /// Throws unless `yes` is true or the user agrees.
    ///
    /// - Parameter would: The effect, as a phrase that follows "this would".
    static func require(_ yes: Bool, would: String, hint: String) throws {
        if yes { return }
        guard SecretInput.isTerminal else {
            throw CommandError(
                .usage,
                "this would \(would); it cannot be confirmed, because stdin is not a terminal",
                hint: "--yes skips the confirmation; \(hint)")
        }
        StandardOutput.diagnose("This would \(would).")
        let answer = try SecretInput.answer("Continue? [y/N]").lowercased()
        guard answer == "y" || answer == "yes" else {
            throw CommandError(.usage, "nothing was changed", hint: hint)
        }
    }
}
