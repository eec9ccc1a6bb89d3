/// The parts of a path of the file system.
///
/// Foundation's `NSString.deletingLastPathComponent` ends the process where a path is a name of one letter
/// (Swift 6.3 on Linux).
package enum PathParts {
    /// The folder that a file is in; `.` for a bare name.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// What stands behind the last slash.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    private static let separator = UInt8(ascii: "/")
}
