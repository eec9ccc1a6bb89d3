import Foundation
import TapedeckLMDB
import TapedeckModel
@testable import TapedeckServer
import TapedeckSyncProtocol
import Testing

/// A flipped bit is an error that says where, never wrong data.
@Suite struct DamageTests {
    @Test func aDamagedEntryIsNamed() async throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        let storage = try LMDBStorage(directory)
        let space = try await storage.createToken(space: "default", name: "test").info.space
        let lineage = try await storage.head(of: space).lineage
        _ = try await storage.push(space, lineage: lineage, entries: sampleEntries(1, 1...5))
        storage.close()
        try flip(directory, "entries", RowKey.entry(space, 3))

        let opened = try LMDBStorage(directory)
        defer { opened.close() }
        // What stands before and behind it can be had.
        let cursor = SyncCursor(lineage)
        let first = try await opened.pull(space, after: cursor, bytesMax: 1, origin: nil)
        #expect(first.receivedAt.count == 1)
        let pulled = await #expect(throws: ServerError.self) {
            _ = try await opened.pull(space, after: cursor, bytesMax: 1 << 20, origin: nil)
        }
        #expect(pulled?.code == .damaged)
        #expect(pulled?.position == 3)
        #expect(pulled?.space == space)
        let pushed = await #expect(throws: ServerError.self) {
            _ = try await opened.push(space, lineage: lineage, entries: sampleEntries(1, 1...6))
        }
        #expect(pushed?.code == .damaged)
        #expect(pushed?.position == 3)
        // Others go on.
        let other = try await opened.push(space, lineage: lineage, entries: sampleEntries(1, 6...7))
        #expect(other.positions == [6, 7])
    }

    @Test(arguments: ["spaces", "origins", "segments", "tokens"])
    func damagedSmallRowsAreErrors(table: String) async throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        let storage = try LMDBStorage(directory)
        let made = try await storage.createToken(space: "default", name: "test")
        let space = made.info.space
        let lineage = try await storage.head(of: space).lineage
        _ = try await storage.push(space, lineage: lineage, entries: sampleEntries(1, 1...5))
        storage.close()
        try flip(directory, table, nil)

        let opened = try LMDBStorage(directory)
        defer { opened.close() }
        let error = await #expect(throws: ServerError.self) {
            _ = try await opened.push(space, lineage: lineage, entries: sampleEntries(1, 5...6))
            _ = try await opened.space(forToken: made.token)
        }
        #expect(error?.code == .damaged)
    }

    /// Flips a bit in the middle of a row.
    private func flip(_ directory: ServerDirectory, _ table: String, _ key: [UInt8]?) throws {
        let environment = try Environment(path: directory.store, options: .init())
        defer { environment.close() }
        let table = try environment.openTable(table)
        try environment.write { transaction in
            let cursor = try transaction.cursor(table)
            var found = try cursor.first()
            if let key { found = try cursor.seek(key) }
            guard let row = found else {
                throw LMDBError(.notFound, path: directory.store, detail: "no row")
            }
            let name = Array(row.key)
            var value = Array(row.value)
            value[value.count / 2] ^= 4
            try transaction.put(table, name, value)
        }
    }
}
