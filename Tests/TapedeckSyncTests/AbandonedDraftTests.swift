import Foundation
import TapedeckLog
import TapedeckModel
import TapedeckProjections
@testable import TapedeckSync
import TestSupport
import Testing

/// Blobs and logins of killed writers do not stay on the disk.
struct AbandonedDraftTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Leaves the file that a killed writer of `target` would leave, and returns its path.
    private func leave(_ target: String) throws -> String {
        let path = directory.file(target) + ".0123456789abcdef.tapedeck-part"
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data("half".utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func nextBlobRemovesAbandonedBlobDrafts() throws {
        try EventLog.create(directory.path).close()
        let left = try leave("blobs/new")
        let blobs = BlobStore(store: directory.path)
        let name = try blobs.add([1, 2, 3])
        #expect(!FileManager.default.fileExists(atPath: left))
        let path = try #require(blobs.path(of: name))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1, 2, 3]))
        // A file is copied in parts.
        #expect(try blobs.add(contentsOf: path) == name)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.file("blobs"))
                == [String(name.prefix(2))])
    }

    /// Drafts of logins contain secrets.
    @Test func nextLoginAndLogoutRemoveAbandonedLoginDrafts() throws {
        let remote = Remote(name: "home", system: "shelby", url: "https://a.example", parts: [])
        let log = try EventLog.create(directory.path)
        let runner = ProjectionRunner(log, projections: [Remotes()])
        defer {
            runner.close()
            log.close()
        }
        let logins = LoginFiles(log, runner)
        let first = try leave("logins/home.json")
        #expect(first.hasPrefix(logins.path("home") + "."))
        try logins.write(RemoteLogin(secrets: RemoteSecrets(token: "t")), for: remote)
        #expect(!FileManager.default.fileExists(atPath: first))
        #expect(try logins.read(remote)?.secrets.token == "t")
        _ = try leave("logins/home.json")
        logins.remove("home")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.file("logins")).isEmpty)
    }

    /// The drafts of killed writers are deleted, both for a remote that does not exist and for a
    /// remote that has a login.
    @Test func endedLoginsLeaveNoDrafts() throws {
        let log = try EventLog.create(directory.path)
        let runner = ProjectionRunner(log, projections: [Remotes()])
        defer {
            runner.close()
            log.close()
        }
        let remote = Remote(name: "home", system: "shelby", url: "https://a.example", parts: [])
        let added = RemoteAdded.with {
            ($0.name, $0.system, $0.url) = (remote.name, remote.system, remote.url)
        }
        try log.record([try ProposedEvent(added)])
        let logins = LoginFiles(log, runner)
        #expect(!LoginFiles.exist(in: log))
        _ = try leave("logins/gone.json")
        #expect(LoginFiles.exist(in: log))
        try logins.write(RemoteLogin(secrets: RemoteSecrets(token: "t")), for: remote)
        _ = try leave("logins/home.json")
        // The draft of a living writer stays.
        let draft = try ReplacedFile(replacing: logins.path("other"))
        try logins.removeEnded()
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory.file("logins")).sorted()
        }
        #expect(try files() == ["home.json", (draft.path as NSString).lastPathComponent])
        try log.record([try ProposedEvent(RemoteLoginsEnded.with { $0.name = "home" })])
        try logins.removeEnded()
        #expect(try files() == [(draft.path as NSString).lastPathComponent])
    }
}
