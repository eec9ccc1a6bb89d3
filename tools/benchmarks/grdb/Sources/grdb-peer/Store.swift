import Foundation
import GRDB

/// The event table in a `DatabasePool` whose commits are synced.
struct Store {
    let pool: DatabasePool

    init(directory: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            // LMDB reads directly from the page cache; a cache of 64 MB instead of 2 MB gives
            // SQLite the same advantage.
            try database.execute(sql: "PRAGMA cache_size=-65536")
        }
        pool = try DatabasePool(path: directory + "/events.sqlite", configuration: configuration)
        // While a pool opens, it sets `synchronous=NORMAL` for its writer, after `prepareDatabase`.
        // With NORMAL, commits are not synced at all. The pool keeps a value that is set after the
        // pool has opened.
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous=FULL")
        }
    }

    /// - Parameter isReplay: Whether to add the columns that the fold reads. They come before the
    ///   payload, so that SQLite does not have to skip the payload.
    func createEvents(indexed: Bool, isReplay: Bool = false) throws {
        try pool.write { database in
            let fold = isReplay ? "title TEXT NOT NULL, sharer TEXT NOT NULL, createdAt INT," : ""
            try database.execute(
                sql: """
                    CREATE TABLE event(position INTEGER PRIMARY KEY, origin INTEGER NOT NULL,
                    sequence INTEGER NOT NULL, stamp INTEGER NOT NULL, type INTEGER NOT NULL,
                    video TEXT NOT NULL, \(fold) payload BLOB NOT NULL)
                    """)
            guard indexed else { return }
            try database.execute(sql: "CREATE UNIQUE INDEX eventID ON event(origin, sequence)")
            try database.execute(sql: "CREATE INDEX eventVideo ON event(video)")
        }
    }

    /// Appends every event of the workload, through one prepared statement.
    func append(_ workload: Workload, perCommit: Int, isReplay: Bool = false) throws {
        var workload = workload
        var payload = Data(repeating: UInt8(ascii: "p"), count: Workload.payloadSize)
        let columns = isReplay ? 10 : 7
        let marks = Array(repeating: "?", count: columns).joined(separator: ", ")
        let sql = "INSERT INTO event VALUES (\(marks))"
        var done = 0
        while done < workload.events {
            let count = min(perCommit, workload.events - done)
            try pool.write { database in
                let insert = try database.cachedStatement(sql: sql)
                for _ in 0..<count {
                    let event = workload.next()
                    withUnsafeBytes(of: event.firstWord.littleEndian) {
                        payload.replaceSubrange(0..<8, with: $0)
                    }
                    var values: [(any DatabaseValueConvertible)?] = [
                        event.position, event.origin, event.sequence, event.stamp, event.type,
                        event.key,
                    ]
                    if isReplay { values += [event.title, event.sharer, event.createdAt] }
                    values.append(payload)
                    try insert.execute(arguments: StatementArguments(values))
                }
            }
            done += count
        }
    }

    /// Reads every event as a record and sums the first 8 bytes of the payloads.
    func sumOfRecords() throws -> (count: Int, sum: UInt64) {
        try pool.read { database in
            var count = 0
            var sum: UInt64 = 0
            let records = try EventRecord.fetchCursor(
                database, sql: "SELECT * FROM event ORDER BY position")
            while let record = try records.next() {
                sum &+= record.payload.withUnsafeBytes {
                    UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self))
                }
                count += 1
            }
            return (count, sum)
        }
    }
}

/// Reads columns by index instead of name, without `Codable`: the fastest record that GRDB
/// documents.
private struct EventRecord: FetchableRecord {
    var position, origin, sequence, stamp, type: Int64
    var video: String
    var payload: Data

    init(row: Row) {
        position = row[0]
        origin = row[1]
        sequence = row[2]
        stamp = row[3]
        type = row[4]
        video = row[5]
        payload = row[6]
    }
}
