import Foundation
import TapedeckLMDB
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// Errors for files to which the system denies access contain the cause, the path and a hint.
@Suite(.offTasks) struct AccessTests {
    @Test func accessErrorsIncludeTheSystemsReason() {
        for error in [
            LogError.system(EACCES, "/there/log.mdb"),
            LogError(
                LMDBError(
                    .accessDenied, path: "/there/log.mdb", detail: String(cString: strerror(EACCES))
                )),
        ] {
            #expect(error.code == .accessDenied)
            #expect(error.message.contains("/there/log.mdb"))
            #expect(error.message.hasSuffix("Permission denied"))
            #expect(error.hint == SystemReason.accessHint)
        }
    }

    @Test func foundationErrorsIncludeTheSystemsReason() {
        #expect(SystemReason.of(CocoaError(.fileWriteNoPermission)) == ": Permission denied")
        #expect(SystemReason.of(POSIXError(.EROFS)) == ": Read-only file system")
        let above = NSError(
            domain: NSCocoaErrorDomain, code: 1,
            userInfo: [NSUnderlyingErrorKey: POSIXError(.EACCES) as NSError])
        #expect(SystemReason.of(above) == ": Permission denied")
        #expect(SystemReason.of(CancellationError()) == "")
    }

    /// Root can access everything.
    @Test(.enabled(if: geteuid() != 0))
    func unreadableDirectoryIsReportedAsAccessDenied() throws {
        let place = NSTemporaryDirectory() + "tapedeck-access-\(UUID().uuidString)"
        defer {
            chmod(place, 0o700)
            try? FileManager.default.removeItem(atPath: place)
        }
        try EventLog.create(place).close()
        chmod(place, 0)
        let error = #expect(throws: LogError.self) { try EventLog(opening: place) }
        #expect(error?.code == .accessDenied)
        #expect(error?.message.hasSuffix("Permission denied") == true)
    }
}
