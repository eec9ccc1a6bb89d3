import GRDB

/// The four methods that the replay benchmarks use to fold events.
///
/// The result has one row per video: the title and sharer of its oldest broadcast (by creation
/// time, then by id), the number of its broadcasts, and the creation time of the newest broadcast.
///
/// 1. records: a fetch and a save per event, as in the first version of an app
/// 2. upserts: one prepared statement, one transaction
/// 3. memory: a dictionary, then sorted inserts in one transaction
/// 4. sql: one statement; no event leaves SQLite
///
/// All methods must produce the same table; `videoChecksum` verifies this.
enum ReplayWay: String, CaseIterable {
    case records, upserts, memory, sql
}

/// The order of broadcasts: by creation time, then by id.
private struct Age: Comparable {
    var createdAt, origin, sequence: Int64

    static func < (left: Age, right: Age) -> Bool {
        (left.createdAt, left.origin, left.sequence)
            < (right.createdAt, right.origin, right.sequence)
    }
}

private struct VideoRow: FetchableRecord, PersistableRecord {
    static let databaseTableName = "videoList"

    var video, title, sharer: String
    var oldest: Age
    var broadcasts: Int
    var newestAt: Int64

    init(video: String, title: String, sharer: String, age: Age) {
        self.video = video
        self.title = title
        self.sharer = sharer
        oldest = age
        broadcasts = 1
        newestAt = age.createdAt
    }

    init(row: Row) {
        video = row[0]
        title = row[1]
        sharer = row[2]
        oldest = Age(createdAt: row[3], origin: row[4], sequence: row[5])
        broadcasts = row[6]
        newestAt = row[7]
    }

    func encode(to container: inout PersistenceContainer) {
        container["video"] = video
        container["title"] = title
        container["sharer"] = sharer
        container["oldestAt"] = oldest.createdAt
        container["oldestOrigin"] = oldest.origin
        container["oldestSequence"] = oldest.sequence
        container["broadcasts"] = broadcasts
        container["newestAt"] = newestAt
    }

    /// Adds an event, whose columns are listed in `columns` below.
    mutating func add(_ event: Row) {
        let age = eventAge(event)
        broadcasts += 1
        newestAt = max(newestAt, age.createdAt)
        guard age < oldest else { return }
        oldest = age
        title = event[4]
        sharer = event[5]
    }
}

private let columns = "video, createdAt, origin, sequence, title, sharer"

private func eventAge(_ event: Row) -> Age {
    Age(createdAt: event[1], origin: event[2], sequence: event[3])
}

private func newRow(_ event: Row) -> VideoRow {
    VideoRow(video: event[0], title: event[4], sharer: event[5], age: eventAge(event))
}

extension Store {
    /// Empties the read model and the write-ahead log, so that the previous method does not slow
    /// down the next one.
    func clearVideos() throws {
        try pool.write { database in
            try database.execute(
                sql: """
                    DROP TABLE IF EXISTS videoList;
                    CREATE TABLE videoList(video TEXT PRIMARY KEY, title TEXT NOT NULL,
                    sharer TEXT NOT NULL, oldestAt INTEGER NOT NULL, oldestOrigin INTEGER NOT NULL,
                    oldestSequence INTEGER NOT NULL, broadcasts INTEGER NOT NULL,
                    newestAt INTEGER NOT NULL) WITHOUT ROWID
                    """)
        }
        _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    /// - Parameter events: The number of events to replay.
    func replay(_ way: ReplayWay, events: Int) throws {
        switch way {
        case .records: try replayRecords(events: events)
        case .upserts: try replayUpserts()
        case .memory: try replayInMemory()
        case .sql: try pool.write { try $0.execute(sql: groupSQL) }
        }
    }

    private func replayRecords(events: Int) throws {
        for first in stride(from: 1, through: events, by: 1000) {
            try pool.write { database in
                let batch = try Row.fetchCursor(
                    database,
                    sql: "SELECT \(columns) FROM event WHERE position >= ? AND position < ?",
                    arguments: [first, min(first + 1000, events + 1)])
                while let event = try batch.next() {
                    if var row = try VideoRow.fetchOne(database, key: event[0] as String) {
                        row.add(event)
                        try row.save(database)
                    } else {
                        try newRow(event).save(database)
                    }
                }
            }
        }
    }

    private func replayUpserts() throws {
        try pool.write { database in
            let events = try Row.fetchCursor(
                database, sql: "SELECT \(columns) FROM event ORDER BY position")
            let upsert = try database.makeStatement(sql: upsertSQL)
            while let event = try events.next() {
                let video: String = event[0]
                let age = eventAge(event)
                let title: String = event[4]
                let sharer: String = event[5]
                try upsert.execute(arguments: [
                    video, title, sharer, age.createdAt, age.origin, age.sequence, age.createdAt,
                ])
            }
        }
    }

    private func replayInMemory() throws {
        try pool.write { database in
            var rows: [VideoRow] = []
            var indexes: [String: Int] = [:]
            let events = try Row.fetchCursor(
                database, sql: "SELECT \(columns) FROM event ORDER BY position")
            while let event = try events.next() {
                let video: String = event[0]
                if let index = indexes[video] {
                    rows[index].add(event)
                } else {
                    indexes[video] = rows.count
                    rows.append(newRow(event))
                }
            }
            let insert = try database.makeStatement(
                sql: "INSERT INTO videoList VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            // Inserts in key order only extend a B-tree at its end.
            for (_, index) in indexes.sorted(by: { $0.key < $1.key }) {
                let row = rows[index]
                try insert.execute(arguments: [
                    row.video, row.title, row.sharer, row.oldest.createdAt, row.oldest.origin,
                    row.oldest.sequence, row.broadcasts, row.newestAt,
                ])
            }
        }
    }

    func videoChecksum() throws -> UInt64 {
        try pool.read { database in
            var sum: UInt64 = 0
            let rows = try VideoRow.fetchCursor(database, sql: "SELECT * FROM videoList")
            while let row = try rows.next() {
                var hash: UInt64 = 0
                for text in [row.video, row.title, row.sharer] {
                    for byte in text.utf8 { hash = mix(hash ^ UInt64(byte)) }
                }
                hash = mix(hash ^ UInt64(row.broadcasts))
                sum &+= mix(hash ^ UInt64(row.newestAt))
            }
            return sum
        }
    }
}

private let upsertSQL = """
    INSERT INTO videoList VALUES (?, ?, ?, ?, ?, ?, 1, ?)
    ON CONFLICT(video) DO UPDATE SET
        broadcasts = broadcasts + 1,
        newestAt = max(newestAt, excluded.newestAt),
        title = iif(\(isOlder), excluded.title, title),
        sharer = iif(\(isOlder), excluded.sharer, sharer),
        oldestAt = iif(\(isOlder), excluded.oldestAt, oldestAt),
        oldestOrigin = iif(\(isOlder), excluded.oldestOrigin, oldestOrigin),
        oldestSequence = iif(\(isOlder), excluded.oldestSequence, oldestSequence)
    """

private let isOlder = """
    (excluded.oldestAt, excluded.oldestOrigin, excluded.oldestSequence)
    < (oldestAt, oldestOrigin, oldestSequence)
    """

/// If a query has a single `min`, SQLite takes bare columns from the row with the minimum, which is
/// faster than window functions.
///
/// The minimum is taken over one integer that combines the creation time (29 bits), the origin (2
/// bits) and the sequence number (32 bits). SQLite does not guarantee this choice of row if the
/// query also has a `max`, so the newest creation time is grouped separately.
private let groupSQL = """
    INSERT INTO videoList
    SELECT video, title, sharer, createdAt, origin, sequence, broadcasts, newestAt
    FROM (
        SELECT \(columns), count(*) AS broadcasts,
            min(((createdAt - 1300000000) << 34) | (origin << 32) | sequence)
        FROM event GROUP BY video)
    JOIN (SELECT video, max(createdAt) AS newestAt FROM event GROUP BY video) USING (video)
    """
