import Foundation
import TapedeckLMDB
import TapedeckModel
@testable import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// The files in a server's directory, and opening that directory.
@Suite struct OpeningTests {
    @Test func filesAreReadableOnlyByTheirOwner() async throws {
        let directory = try TemporaryDirectory().file("server")
        try await RunningServer.with(directory: directory) { it in
            #expect(try mode(directory) == 0o700)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                #expect(try mode(directory + "/" + name) == 0o600, "\(name)")
            }
            #expect(it.token.hasPrefix("td_"))
            // The file contains only the hash of the token.
            let stored = try Data(contentsOf: URL(fileURLWithPath: directory + "/server.mdb"))
            #expect(stored.range(of: Data(it.token.utf8)) == nil)
        }
    }

    private func mode(_ path: String) throws -> Int {
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(facts[.posixPermissions] as? Int)
    }

    /// At such a path there may be a server, so it is not reported as missing.
    @Test func loopOfLinksIsNotReportedAsMissing() throws {
        let loop = try TemporaryDirectory().file("loop")
        try #require(symlink(loop, loop) == 0)
        let error = #expect(throws: ServerError.self) { try TokenStorage(loop) }
        #expect(error?.code == .usage)
    }

    @Test func missingTokenFileIsReplacedWithANewToken() async throws {
        let directory = try TemporaryDirectory().file("server")
        var first = ""
        try await RunningServer.with(directory: directory) { first = $0.token }
        try FileManager.default.removeItem(atPath: directory + "/token")
        let former = first
        try await RunningServer.with(directory: directory) { it in
            #expect(it.token != former)
            let space = try await it.server.storage.space(forToken: it.token)
            #expect(space == SpaceID(rawValue: 1))
            // The former token is still valid, so devices that have it are not affected.
            let known = try await it.server.storage.space(forToken: former)
            #expect(known == space)
        }
    }

    @Test func onlyOneServerCanUseADirectory() async throws {
        let directory = try TemporaryDirectory().file("server")
        try await RunningServer.with(directory: directory) { _ in
            let error = #expect(throws: ServerError.self) {
                _ = try SyncServer(.init(directory: directory, port: 0))
            }
            #expect(error?.code == .busy)
        }
    }

    @Test func stoppedServersReleaseTheirDirectory() async throws {
        let directory = try TemporaryDirectory().file("server")
        var ended: [SyncServer] = []
        for _ in 1...3 {
            try await RunningServer.with(directory: directory) { ended.append($0.server) }
        }
        let error = await #expect(throws: ServerError.self) { try await ended[0].run() }
        #expect(error?.code == .closed)
        // Closed servers do not release a directory that has been opened again since.
        let storage = try LMDBStorage(ServerDirectory(directory))
        ended = []
        let again = #expect(throws: ServerError.self) {
            _ = try LMDBStorage(ServerDirectory(directory))
        }
        #expect(again?.code == .busy)
        storage.close()
    }

    @Test func managingTokensCreatesNoDirectory() throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        let error = #expect(throws: ServerError.self) {
            _ = try LMDBStorage(directory, options: .init(creates: false))
        }
        #expect(error?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func plaintextIsLimitedToLoopbackByDefault() throws {
        let directory = try TemporaryDirectory().file("server")
        for host in ["0.0.0.0", "::", "192.168.1.1", "example.org", ""] {
            let error = #expect(throws: ServerError.self) {
                _ = try SyncServer(.init(directory: directory, host: host, port: 0))
            }
            #expect(error?.code == .usage)
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
        for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
            #expect(SyncServer.isLoopback(host))
        }
        _ = try SyncServer(
            .init(
                directory: directory, host: "0.0.0.0", port: 0, allowsPlaintextBeyondLoopback: true)
        )
    }

    @Test func errorsForAPortInUseNameThePort() async throws {
        try await RunningServer.with { it in
            let server = try SyncServer(
                .init(
                    directory: try TemporaryDirectory().file("other"), port: it.address.port,
                    endsOnSignals: false, logger: it.log.logger))
            let error = await #expect(throws: ServerError.self) { try await server.run() }
            #expect(error?.code == .busy)
            #expect(error?.message.contains("\(it.address.port)") == true)
        }
    }

    @Test func newerFormatsAreRefusedWithTheirNumber() throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        try LMDBStorage(directory).close()
        let environment = try Environment(path: directory.store, options: .init())
        let meta = try environment.openTable("meta")
        var row: [UInt8] = []
        row.appendLittleEndian(UInt32(3))
        try environment.write { try $0.seal(meta, RowKey.format, row) }
        environment.close()
        let error = #expect(throws: ServerError.self) { _ = try LMDBStorage(directory) }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("format 3") == true)
    }

    @Test func truncatedFilesAreRefused() throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        try LMDBStorage(directory).close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.store))
        bytes.removeLast(bytes.count / 2)
        try bytes.write(to: URL(fileURLWithPath: directory.store))
        let error = #expect(throws: ServerError.self) { _ = try LMDBStorage(directory) }
        #expect(error?.code == .damaged)
    }
}
