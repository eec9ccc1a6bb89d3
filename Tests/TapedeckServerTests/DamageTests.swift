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

    /// A number in a row.
    struct Field: CustomTestStringConvertible {
        var table: String
        var offset: Int
        var width = 8
        var isInKey = false

        var testDescription: String {
            "\(table), \(isInKey ? "key" : "value"), byte \(offset)"
        }
    }

    static let fields: [Field] = [
        Field(table: "meta", offset: 0, width: 4), Field(table: "spaces", offset: 16),
        Field(table: "spaces", offset: 24), Field(table: "origins", offset: 0),
        Field(table: "segments", offset: 20, isInKey: true), Field(table: "segments", offset: 0),
        Field(table: "segments", offset: 8), Field(table: "entries", offset: 4, isInKey: true),
        Field(table: "entries", offset: 0), Field(table: "entries", offset: 25, width: 1),
        Field(table: "receipts", offset: 0), Field(table: "tokens", offset: 0, width: 4),
        Field(table: "tokens", offset: 4), Field(table: "tokens", offset: 12),
    ]

    /// A forged number in an intact row causes an error or has no effect; it never ends the process.
    ///
    /// Anyone can compute a checksum, so an intact row can contain any number.
    @Test(arguments: fields) func forgedNumbersAreHarmless(_ field: Field) async throws {
        let numbers: [UInt64] = [0, 1, 1 << 31, 1 << 32 - 1, 1 << 63 - 1, 1 << 63, .max]
        for number in numbers {
            let directory = ServerDirectory(try TemporaryDirectory().file("server"))
            let storage = try LMDBStorage(directory)
            let made = try await storage.createToken(space: "default", name: "test")
            let space = made.info.space
            let lineage = try await storage.head(of: space).lineage
            var receipt: [UInt8] = []
            receipt.appendEntry(
                Receipt(
                    event: EventID(1, 2), lineage: .sample(9), serverPosition: 7,
                    receivedAt: Stamp(milliseconds: 5)))
            _ = try await storage.push(
                space, lineage: lineage, entries: sampleEntries(1, 1...5) + Data(receipt))
            storage.close()
            try forge(number, field, in: directory)
            await attempt {
                let opened = try LMDBStorage(directory)
                defer { opened.close() }
                await attempt { _ = try await opened.handshake(space) }
                await attempt { _ = try await opened.counts() }
                await attempt { _ = try await opened.space(forToken: made.token) }
                await attempt {
                    _ = try await opened.pull(
                        space, after: SyncCursor(lineage), bytesMax: 1 << 20, held: nil)
                }
                for entries in [sampleEntries(1, 2...4), sampleEntries(1, 6...7), Data(receipt)] {
                    await attempt {
                        _ = try await opened.push(space, lineage: lineage, entries: entries)
                    }
                }
            }
        }
    }

    /// Runs `body`, which may fail with an error for users.
    private func attempt(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            let code = (error as? ServerError)?.code
            #expect(code != nil && code != .internalError, "\(error)")
        }
    }

    /// Puts a number into the last row of a table, and gives the row a matching checksum.
    private func forge(_ number: UInt64, _ field: Field, in directory: ServerDirectory) throws {
        let environment = try Environment(path: directory.store, options: .init())
        defer { environment.close() }
        let table = try environment.openTable(field.table)
        try environment.write { transaction in
            var (key, value): ([UInt8], [UInt8]) = ([], [])
            do {
                let cursor = try transaction.cursor(table)
                guard let row = try cursor.last() else {
                    throw LMDBError(.notFound, path: directory.store, detail: "no row")
                }
                (key, value) = (Array(row.key), Array(row.value.dropLast(4)))
            }
            try transaction.delete(table, key)
            let bytes = (0..<field.width).map { index in
                UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
            }
            let range = field.offset..<field.offset + field.width
            // Numbers in keys are big-endian.
            if field.isInKey { key.replaceSubrange(range, with: bytes.reversed()) }
            if !field.isInKey { value.replaceSubrange(range, with: bytes) }
            try transaction.seal(table, key, value)
        }
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
