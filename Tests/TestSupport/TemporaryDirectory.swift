import Foundation

/// A directory that is removed when the test process ends.
///
/// The directory is not removed sooner, because a store may use it for longer than the variable
/// exists.
package struct TemporaryDirectory: Sendable {
    package let path: String

    /// The directory that contains the directories of this process.
    package static let base: String = {
        let path = NSTemporaryDirectory() + "tapedeck-tests-\(getpid())"
        atexit { try? FileManager.default.removeItem(atPath: TemporaryDirectory.base) }
        return path
    }()

    /// Creates a directory with a unique name.
    package init(_ name: String = #function) throws {
        let word = name.prefix { $0.isLetter || $0.isNumber }
        path = TemporaryDirectory.base + "/\(word)-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Returns a path inside the directory; creates nothing there.
    package func file(_ name: String) -> String { path + "/" + name }
}
