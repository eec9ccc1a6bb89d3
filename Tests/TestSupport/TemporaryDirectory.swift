import Foundation

/// A directory that is removed when the process of the tests ends.
///
/// Not sooner: a store may be in use longer than the variable that made its directory.
package struct TemporaryDirectory: Sendable {
    package let path: String

    /// Where the directories of this process are.
    package static let base: String = {
        let path = NSTemporaryDirectory() + "tapedeck-tests-\(getpid())"
        atexit { try? FileManager.default.removeItem(atPath: TemporaryDirectory.base) }
        return path
    }()

    /// Makes a directory with a name that nothing else has.
    package init(_ name: String = #function) throws {
        let word = name.prefix { $0.isLetter || $0.isNumber }
        path = TemporaryDirectory.base + "/\(word)-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// A path inside; nothing is made there.
    package func file(_ name: String) -> String { path + "/" + name }
}
