import Foundation
import TapedeckLMDB
import TapedeckModel
@testable import TapedeckServer
import TapedeckSyncProtocol
import TestSupport
import Testing

/// A flipped bit causes an error that names the position, never wrong data.
@Suite struct DamageTests {
    @Test func errorsNameTheDamagedEntry() async throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        let storage = try LMDBStorage(directory)
        let space = try await storage.createToken(space: "default", name: "test").info.space
        let lineage = try await storage.head(of: space).lineage
        _ = try await storage.push(space, lineage: lineage, entries: sampleEntries(1, 1...5))
        storage.close()
        try flip(directory, "entries", RowKey.entry(space, 3))

        let opened = try LMDBStorage(directory)
        defer { opened.close() }
        // Entries before the damaged one can still be read.
        let cursor = SyncCursor(lineage)
        let first = try await opened.pull(space, after: cursor, bytesMax: 1, held: nil)
        #expect(first.receivedAt.count == 1)
        let pulled = await #expect(throws: ServerError.self) {
            _ = try await opened.pull(space, after: cursor, bytesMax: 1 << 20, held: nil)
        }
        #expect(pulled?.code == .damaged)
        #expect(pulled?.position == 3)
        #expect(pulled?.space == space)
        let pushed = await #expect(throws: ServerError.self) {
            _ = try await opened.push(space, lineage: lineage, entries: sampleEntries(1, 1...6))
        }
        #expect(pushed?.code == .damaged)
        #expect(pushed?.position == 3)
        // Other pushes are not affected.
        let other = try await opened.push(space, lineage: lineage, entries: sampleEntries(1, 6...7))
        #expect(other.positions == [6, 7])
    }

    @Test(arguments: ["spaces", "origins", "segments", "tokens"])
    func damagedRowsCauseErrors(table: String) async throws {
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

    /// A table that is not found by name must not be created again, because an empty table would
    /// return different data.
    @Test(arguments: ["spaces", "tokens", "entries", "origins", "segments", "receipts"])
    func missingTablesAreReported(table: String) throws {
        let directory = ServerDirectory(try TemporaryDirectory().file("server"))
        try LMDBStorage(directory).close()
        let place = URL(fileURLWithPath: directory.store)
        var bytes = try Data(contentsOf: place)
        // The size precedes the name; both also occur in pages of former commits.
        let name = Data([UInt8(table.utf8.count), 0]) + Data(table.utf8)
        var found = bytes.range(of: name)
        while let last = found {
            bytes[last.upperBound - 1] ^= 0x80
            found = bytes.range(of: name)
        }
        try bytes.write(to: place)
        let error = #expect(throws: ServerError.self) { try LMDBStorage(directory).close() }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains(table) == true, "\(String(describing: error))")
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
