internal import Foundation

/// The operating system's reason for a failed file operation, for error messages.
package enum SystemReason {
    /// The hint for errors caused by missing permissions.
    package static let accessHint = "check the owner and permissions of the file and its directory"

    /// The hint for paths that cannot name a file.
    package static let pathHint =
        "use another path: a shorter one, or one without a symbolic link that leads back to itself"
        + " or to nothing"

    /// Returns the reason for a Foundation error as a suffix for a message.
    ///
    /// An example is `: Permission denied`. If the reason is unknown, the suffix is empty.
    package static func of(_ error: any Error) -> String {
        guard let number = number(of: error as NSError) else { return "" }
        return ": " + String(cString: strerror(number))
    }

    private static func number(of error: NSError) -> Int32? {
        if error.domain == NSPOSIXErrorDomain { return Int32(error.code) }
        if let below = error.userInfo[NSUnderlyingErrorKey] as? NSError {
            return number(of: below)
        }
        guard error.domain == NSCocoaErrorDomain else { return nil }
        // Some versions of Foundation do not include the underlying error.
        return switch CocoaError.Code(rawValue: error.code) {
        case .fileReadNoPermission, .fileWriteNoPermission: EACCES
        case .fileWriteVolumeReadOnly: EROFS
        case .fileWriteOutOfSpace: ENOSPC
        case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
        case .fileWriteFileExists: EEXIST
        default: nil
        }
    }
}
