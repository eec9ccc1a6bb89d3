import Foundation
import TapedeckModel
@testable import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// Server files from earlier versions (`schema/vectors`) can always be opened.
@Suite struct GoldenFileTests {
    private static func path(_ name: String, _ file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/vectors/" + name).path
    }

    @Test func versionOneFilesHaveTheExpectedContents() async throws {
        if ProcessInfo.processInfo.environment["TAPEDECK_WRITE_VECTORS"] == "1" {
            try await write()
        }
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        try FileManager.default.createDirectory(
            atPath: directory.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: GoldenFileTests.path("server-v1.mdb"), toPath: directory.store)
        let expected = try String(
            contentsOfFile: GoldenFileTests.path("server-v1.txt"), encoding: .utf8)
        let token = try #require(expected.split(separator: "\n").first)
        let storage = try LMDBStorage(directory, options: .init(now: { 1_700_000_000_000 }))
        defer { storage.close() }
        #expect(try await text(storage, String(token)) == expected)
        // The file accepts pushes: known events keep their positions, and new ones get the next
        // positions.
        let space = SpaceID(rawValue: 1)
        let lineage = try await storage.head(of: space).lineage
        let known = try await storage.push(
            space, lineage: lineage, entries: sampleEntries(1, 1...6))
        #expect(known.positions == [1, 2, 3, 6, 7, 9])
        #expect(known.fresh == 1)
    }

    /// Returns the contents of a storage, which servers of all versions must report in the same
    /// way.
    private func text(_ storage: LMDBStorage, _ token: String) async throws -> String {
        var lines = [token]
        for info in try await storage.tokens() {
            lines.append(
                "\(info.id) \(info.space) \(info.spaceName) \(info.name) \(info.createdAt)"
                    + " \(info.revokedAt.map(String.init) ?? "-")")
        }
        lines.append("\(try await storage.space(forToken: token).map(\.rawValue) ?? 0)")
        for space in [SpaceID(rawValue: 1), SpaceID(rawValue: 2)] {
            var hello = try await storage.handshake(space)
            // The protocol version depends on the program, not on the file.
            hello.protocol = 1
            lines.append(String(decoding: try hello.encoded(as: .json), as: UTF8.self))
            var reader = SpaceReader(try #require(LineageID(hello.lineage)))
            while try await reader.read(storage, space) {}
            lines.append("\(reader.cursor.position) \(reader.cursor.digest)")
            for entry in reader.entries {
                lines.append(
                    "\(entry.position) \(entry.receivedAt) \(entry.refusal ?? "-")"
                        + " \(entry.kind.rawValue) \(entry.body.hex)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func write() async throws {
        let storage = try LMDBStorage(
            ServerDirectory(try TemporaryDirectory().file("sample")),
            options: .init(
                refuses: { $0.id == EventID(1, 3) ? .tooLarge : nil },
                now: { 1_700_000_000_000 }, randomLineage: { .sample(1) }))
        let made = try await storage.createToken(space: "default", name: "first")
        let other = try await storage.createToken(space: "other", name: "second")
        try await storage.revokeToken(other.info.id)
        var receipt: [UInt8] = []
        receipt.appendEntry(
            Receipt(
                event: EventID(1, 2), lineage: .sample(900), serverPosition: 7,
                receivedAt: Stamp(milliseconds: 5_000), outcome: .refused(.tooLarge)))
        for entries in [
            sampleEntries(1, 1...3), sampleEntries(2, 1...2), sampleEntries(1, 4...5),
            Data(receipt),
        ] {
            _ = try await storage.push(
                made.info.space, lineage: .sample(1), entries: entries)
        }
        let files = FileManager.default
        let target = GoldenFileTests.path("server-v1.mdb")
        try? files.removeItem(atPath: target)
        let file = open(target, O_WRONLY | O_CREAT, 0o644)
        try storage.environment.copy(to: file, target)
        close(file)
        try Data(try await text(storage, made.token).utf8)
            .write(to: URL(fileURLWithPath: GoldenFileTests.path("server-v1.txt")))
        storage.close()
    }
}
