internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

extension LogError {
    /// Returns the error for a path that names a device or a pipe instead of a file.
    static func isNoFile(_ path: String) -> LogError {
        LogError(
            .usage, "\(path) is not a regular file", hint: "use the path of a regular file")
    }

    /// Returns the error for a system error while a file is created or replaced.
    ///
    /// The file itself need not exist, so only its directory can be missing.
    package static func creating(_ path: String, _ number: Int32) -> LogError {
        guard PathParts.isAbsence(number) else { return system(number, path) }
        let folder = PathParts.folder(of: path)
        return LogError(
            .notFound,
            number == ENOENT
                ? "the directory \(folder) does not exist" : "\(folder) is not a directory",
            hint: "create the directory, or check the path")
    }

    /// Returns the error for a system error on a file that LMDB does not manage.
    package static func system(_ number: Int32, _ path: String) -> LogError {
        let text = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            return LogError(
                .diskFull, "the disk that holds \(path) is full; nothing was lost",
                hint: "free some space and try again")
        case EROFS:
            return LogError(
                .readOnly, "\(path) cannot be written: \(text)",
                hint: "make the path writable (permissions, mount), or use another directory")
        case EACCES, EPERM:
            return LogError(
                .accessDenied, "\(path) cannot be used: \(text)", hint: SystemReason.accessHint)
        case ENOENT, ENOTDIR:
            return LogError(.notFound, "\(path) does not exist", hint: "check the path")
        case EISDIR:
            return LogError(.usage, "\(path) is a directory", hint: "use the path of a file")
        case ELOOP, ENAMETOOLONG:
            return LogError(
                .usage, "\(path) cannot be used: \(text)", hint: SystemReason.pathHint)
        case EEXIST, EINVAL:
            return LogError(
                .usage, "\(path) cannot be used: \(text)", hint: "use the path of a file")
        default:
            return LogError(
                .inputOutput, "I/O error on \(path): \(text)", hint: "check the disk")
        }
    }
}
