internal import Foundation
internal import Tapedeck

/// Reads token files, and creates them so that only their owner can read them.
///
/// Tokens are never passed as arguments, because other processes can read arguments.
enum TokenFile {
    /// The maximum size of a token file.
    private static let bytesMax = 4_096

    /// Returns the token in a file, without surrounding whitespace.
    static func read(_ path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            let number = errno
            throw CommandError(
                number == EACCES ? .accessDenied : .notFound,
                "the token file \(path) cannot be read: \(String(cString: strerror(number)))",
                hint: number == EACCES
                    ? "check the file's owner; storectl token create creates another token"
                    : "storectl serve prints the path of its token file")
        }
        defer { _ = close(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = Foundation.read(file, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard count >= 0, count <= bytesMax, !text.isEmpty, isToken else {
            throw CommandError(
                .usage, "\(path) does not contain a token",
                hint: "storectl serve prints the path of its token file")
        }
        return text
    }

    /// Returns whether a path is a regular file, which, unlike a pipe, can be read again.
    static func isOrdinary(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    static func checkIsNew(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw CommandError(.usage, "\(path) already exists", hint: "name a new file")
        }
    }

    /// Writes a token to a new file.
    static func write(_ token: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LogError.creating(path, errno) }
        defer { _ = close(file) }
        try Array((token + "\n").utf8).withUnsafeBytes {
            try DurableFile.write($0, to: file, at: 0, path)
        }
    }
}
