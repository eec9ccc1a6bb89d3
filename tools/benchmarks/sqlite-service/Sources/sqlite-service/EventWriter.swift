import CSQLite
import Dispatch

/// The event table, written through one connection.
///
/// A commit is synced (`synchronous=FULL`), and each event is a transaction of its own, as in a
/// service that inserts a row per request and responds with the row's number.
final class EventWriter: @unchecked Sendable {
    // Used on `queue` only.
    private let database: OpaquePointer
    private let insert: OpaquePointer
    private let queue = DispatchQueue(label: "sqlite-service.writer", qos: .userInitiated)

    init(path: String) throws {
        var database: OpaquePointer?
        guard sqlite3_open(path, &database) == SQLITE_OK, let database else {
            throw SQLiteError("\(path) cannot be opened")
        }
        func execute(_ sql: String) throws {
            guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
                throw SQLiteError(String(cString: sqlite3_errmsg(database)))
            }
        }
        try execute("PRAGMA journal_mode=WAL")
        try execute("PRAGMA synchronous=FULL")
        // Our server uses the entire page cache; a cache of 64 MB instead of 2 MB gives SQLite the
        // same advantage.
        try execute("PRAGMA cache_size=-65536")
        try execute(
            """
            CREATE TABLE IF NOT EXISTS event(position INTEGER PRIMARY KEY, origin BLOB NOT NULL,
            sequence INTEGER NOT NULL, tag TEXT NOT NULL, payload BLOB NOT NULL);
            CREATE UNIQUE INDEX IF NOT EXISTS eventID ON event(origin, sequence)
            """)
        var insert: OpaquePointer?
        let sql = """
            INSERT INTO event(origin, sequence, tag, payload) VALUES (?, ?, ?, ?)
            RETURNING position
            """
        guard
            sqlite3_prepare_v3(
                database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &insert, nil) == SQLITE_OK,
            let insert
        else { throw SQLiteError(String(cString: sqlite3_errmsg(database))) }
        self.database = database
        self.insert = insert
    }

    deinit {
        sqlite3_finalize(insert)
        sqlite3_close(database)
    }

    /// Adds an event and returns its position once the event is on disk.
    func add(_ event: PostedEvent) async throws -> Int64 {
        try await withCheckedThrowingContinuation { waiting in
            queue.async { waiting.resume(with: Result { try self.addNow(event) }) }
        }
    }

    private func addNow(_ event: PostedEvent) throws -> Int64 {
        defer { sqlite3_reset(insert) }
        let position = event.bytes.withUnsafeBytes { bytes -> Int64? in
            func bind(_ column: Int32, _ range: Range<Int>) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[range])
                sqlite3_bind_blob(insert, column, part.baseAddress, Int32(part.count), nil)
            }
            bind(1, event.origin)
            sqlite3_bind_int64(insert, 2, event.sequence)
            let tag = UnsafeRawBufferPointer(rebasing: bytes[event.tag])
            sqlite3_bind_text(
                insert, 3, tag.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(tag.count),
                nil)
            bind(4, event.payload)
            guard sqlite3_step(insert) == SQLITE_ROW else { return nil }
            let position = sqlite3_column_int64(insert, 0)
            // Stepping to the end of the statement commits it.
            return sqlite3_step(insert) == SQLITE_DONE ? position : nil
        }
        guard let position else { throw SQLiteError(String(cString: sqlite3_errmsg(database))) }
        return position
    }
}

struct SQLiteError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
