internal import Synchronization

/// A token that may be replaced while it is in use: its file is read for every request.
final class TokenSource: Sendable {
    /// Where it stands.
    let path: String
    private let last: Mutex<String>

    /// Reads the file for the first time; throws what `TokenFile.read` throws.
    init(_ path: String) throws {
        self.path = path
        last = Mutex(try TokenFile.read(path))
    }

    /// The token that the file holds; the last one, while it cannot be read.
    var current: String {
        last.withLock { last in
            if TokenFile.isOrdinary(path), let token = try? TokenFile.read(path) { last = token }
            return last
        }
    }
}
