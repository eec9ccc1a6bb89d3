internal import Foundation

/// What the system says of files that it does not let us at, for error texts.
package enum SystemReason {
    /// What to do where permission is denied.
    package static let accessHint = "check who owns it and its directory, and what they permit"

    /// The reason that an error of Foundation has, such as `: Permission denied`, to follow what was
    /// not possible; empty where none is known.
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
        // Not every Foundation says what stood below.
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
