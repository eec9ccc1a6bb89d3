internal import Foundation

/// Splits file system paths, and looks for files.
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

    /// Returns whether a file or folder exists; links are followed.
    ///
    /// Throws `LMDBError` if that is unknown, for example without permission to search a folder
    /// above it.
    package static func exists(_ path: String) throws(LMDBError) -> Bool {
        guard access(path, F_OK) != 0 else { return true }
        guard isAbsence(errno) else { throw LMDBError(errno, path: path) }
        return false
    }

    /// Returns whether a system error means that there is no such file.
    ///
    /// After any other error, such as a missing permission, the file may exist.
    package static func isAbsence(_ number: Int32) -> Bool { [ENOENT, ENOTDIR].contains(number) }

    private static let separator = UInt8(ascii: "/")
}
