internal import Foundation
internal import Tapedeck

/// Files that hold a token: never an argument, and readable by their owner only.
enum TokenFile {
    /// Longer files hold no token.
    private static let bytesMax = 4_096

    /// The token in a file, without the space around it.
    static func read(_ path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            let number = errno
            throw CommandError(
                number == EACCES ? .accessDenied : .notFound,
                "the token file \(path) cannot be read: \(String(cString: strerror(number)))",
                hint: number == EACCES
                    ? "check who owns it; storectl token create makes another"
                    : "storectl serve prints where it is")
        }
        defer { _ = close(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = Foundation.read(file, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard count >= 0, count <= bytesMax, !text.isEmpty, isToken else {
            throw CommandError(
                .usage, "\(path) does not hold a token", hint: "storectl serve prints where one is")
        }
        return text
    }

    /// Whether it can be read once more: what came through a pipe cannot.
    static func isOrdinary(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    static func checkIsNew(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw CommandError(.usage, "\(path) is there already", hint: "name a new file")
        }
    }

    /// Writes a token into a new file.
    static func write(_ token: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw CommandError(
                .accessDenied, "\(path) cannot be written: \(String(cString: strerror(errno)))",
                hint: "check the path, and who may write there")
        }
        defer { _ = close(file) }
        let bytes = Array((token + "\n").utf8)
        guard Foundation.write(file, bytes, bytes.count) == bytes.count else {
            throw CommandError(.inputOutput, "\(path) cannot be written")
        }
    }
}
