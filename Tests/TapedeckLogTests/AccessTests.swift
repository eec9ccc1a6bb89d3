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

    /// The calls that look for a store at a path.
    enum Call: CaseIterable {
        case open, create, restore, erase, shrink, verify

        func run(_ path: String) throws {
            switch self {
            case .open: try EventLog(opening: path).close()
            case .create: try EventLog.create(path).close()
            case .restore: _ = try EventLog.restore(from: path + ".backup", into: path)
            case .erase: try EventLog.erase(path)
            case .shrink: try EventLog.shrink(path)
            case .verify: _ = try EventLog.verify(path)
            }
        }
    }

    /// At such a path there may be a store, and nothing is damaged.
    @Test(arguments: Call.allCases)
    func pathsThatLeadNowhereAreNeitherDamagedNorEmpty(_ call: Call) throws {
        let directory = try TemporaryDirectory()
        let loop = directory.file("loop")
        try #require(symlink(loop, loop) == 0)
        for path in [loop, directory.file(String(repeating: "x", count: 300))] {
            let error = #expect(throws: LogError.self) { try call.run(path) }
            #expect(error?.code == .usage, "\(String(describing: error))")
            #expect(error?.message.contains(path) == true)
            #expect(error?.hint != nil)
        }
    }

    @Test func linkToAMissingDirectoryIsNamed() throws {
        let directory = try TemporaryDirectory()
        let link = directory.file("link")
        try #require(symlink(directory.file("missing"), link) == 0)
        let error = #expect(throws: LogError.self) { try EventLog.create(link) }
        #expect(error?.code == .usage)
        #expect(error?.message.contains("is a symbolic link to a missing target") == true)
    }

    @Test func unusableLockFileIsNamed() throws {
        let directory = try TemporaryDirectory()
        try directory.store().close()
        let lock = directory.file("store/log.mdb-lock")
        try #require(unlink(lock) == 0 && mkdir(lock, 0o700) == 0)
        let error = #expect(throws: LogError.self) {
            try EventLog(opening: directory.file("store"))
        }
        #expect(error?.message.contains(lock) == true, "\(String(describing: error))")
    }

    /// A store that cannot be looked for may exist.
    ///
    /// Root can access everything.
    @Test(.enabled(if: geteuid() != 0), arguments: Call.allCases)
    func storesWithoutPermissionAreNotReportedAsMissing(_ call: Call) throws {
        let directory = try TemporaryDirectory()
        let source = try directory.store("folder/store")
        try source.backup(to: directory.file("folder/store.backup"))
        source.close()
        chmod(directory.file("folder"), 0o600)
        defer { chmod(directory.file("folder"), 0o700) }
        let error = #expect(throws: LogError.self) {
            try call.run(directory.file("folder/store"))
        }
        #expect(error?.code == .accessDenied, "\(String(describing: error))")
    }

    /// Root can access everything.
    @Test(.enabled(if: geteuid() != 0))
    func writerThatLosesAccessToItsFolderIsToldSo() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store("folder/store")
        chmod(directory.file("folder"), 0o600)
        let error = #expect(throws: LogError.self) { try log.appendBlocking([.sample(1)]) }
        #expect(error?.code == .accessDenied, "\(String(describing: error))")
        chmod(directory.file("folder"), 0o700)
        try log.appendBlocking([.sample(2)])
        #expect(log.head.rawValue == 1)
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
        for call in [Call.open, .erase] {
            let error = #expect(throws: LogError.self) { try call.run(place) }
            #expect(error?.code == .accessDenied)
            #expect(error?.message.hasSuffix("Permission denied") == true)
        }
    }
}
