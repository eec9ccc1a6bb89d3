internal import Synchronization

/// A token that may be replaced while it is in use, because its file is read for every request.
final class TokenSource: Sendable {
    /// The path of the token's file.
    let path: String
    private let last: Mutex<String>

    /// Reads the file for the first time.
    ///
    /// - Throws: The same errors as `TokenFile.read`.
    init(_ path: String) throws {
        self.path = path
        last = Mutex(try TokenFile.read(path))
    }

    /// The token in the file, or the last token read if the file cannot be read now.
    var current: String {
        last.withLock { last in
            if TokenFile.isOrdinary(path), let token = try? TokenFile.read(path) { last = token }
            return last
        }
    }
}
