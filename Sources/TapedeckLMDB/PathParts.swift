/// Splits file system paths.
///
/// Foundation's `NSString.deletingLastPathComponent` crashes the process if a path is a single
/// letter (Swift 6.3 on Linux).
package enum PathParts {
    /// Returns the folder that contains a file; `.` for a bare name.
    package static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the part after the last slash.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    private static let separator = UInt8(ascii: "/")
}
