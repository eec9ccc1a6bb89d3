import Foundation
import TapedeckLMDB
@testable import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

/// What is said where the system does not let us at a file: what, where, why and what to do.
@Suite(.offTasks) struct AccessTests {
    @Test func theSystemsReasonIsTold() {
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

    @Test func foundationsErrorsHaveTheSystemsReason() {
        #expect(SystemReason.of(CocoaError(.fileWriteNoPermission)) == ": Permission denied")
        #expect(SystemReason.of(POSIXError(.EROFS)) == ": Read-only file system")
        let above = NSError(
            domain: NSCocoaErrorDomain, code: 1,
            userInfo: [NSUnderlyingErrorKey: POSIXError(.EACCES) as NSError])
        #expect(SystemReason.of(above) == ": Permission denied")
        #expect(SystemReason.of(CancellationError()) == "")
    }

    /// The superuser is let at everything.
    @Test(.enabled(if: geteuid() != 0))
    func aDirectoryThatCannotBeLookedIntoIsNotTakenForNoStore() throws {
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
