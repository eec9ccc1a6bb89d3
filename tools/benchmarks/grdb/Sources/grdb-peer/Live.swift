import Foundation
import GRDB

/// Appends events and keeps every list up to date, as an app that uses SQLite would: one
/// transaction inserts the events of a commit and updates rows with prepared upserts.
///
/// The events come from `activity.ndjson`, which `bench-tapedeck` writes. The arguments of the
/// statements are read before the clock starts, so the peer never decodes a payload.
extension Store {
    /// An event and the arguments of its statements.
    struct LiveEvent {
        var columns: StatementArguments
        var changes: [(rule: Int, arguments: StatementArguments)]
    }

    static func liveEvents(directory: String) throws -> [LiveEvent] {
        let lines = try Data(contentsOf: URL(fileURLWithPath: directory + "/activity.ndjson"))
            .split(separator: UInt8(ascii: "\n"))
        var rulesOfType: [String: [Int]] = [:]
        for (index, rule) in LiveRule.all.enumerated() {
            for type in rule.types { rulesOfType[type, default: []].append(index) }
        }
        return try lines.enumerated().map { index, line in
            guard
                let event = try JSONSerialization.jsonObject(with: line) as? [String: Any],
                let type = event["type"] as? String, let at = event["at"] as? Int64,
                let tags = event["tags"] as? [String],
                var fields = event["payload"] as? [String: Any],
                let bytes = (event["bytes"] as? String).flatMap({ Data(base64Encoded: $0) })
            else { fail("line \(index + 1) of the activity cannot be read", code: 1) }
            (fields["@at"], fields["@id"]) = (at, Int64(index) + 1)
            fields["@day"] = at / 86_400_000
            let changes = (rulesOfType[type] ?? []).compactMap {
                rule -> (Int, StatementArguments)? in
                let wanted = LiveRule.all[rule]
                // A rule for answers does not apply to an event about a video.
                guard wanted.fields.isEmpty || !Store.isNull(fields[wanted.fields[0]]) else {
                    return nil
                }
                return (rule, StatementArguments(wanted.fields.map { Store.value(fields[$0]) }))
            }
            let columns: [(any DatabaseValueConvertible)?] = [
                index + 1, 0, index + 1, at, type, tags.first, bytes,
            ]
            return LiveEvent(columns: StatementArguments(columns), changes: changes)
        }
    }

    private static func isNull(_ field: Any?) -> Bool { field == nil || field is NSNull }

    /// Returns strings and numbers unchanged, and anything else as JSON.
    private static func value(_ field: Any?) -> (any DatabaseValueConvertible)? {
        switch field {
        case nil, is NSNull: nil
        case let text as String: text
        case let number as Int64: number
        case let number as Double: number
        case let other?:
            (try? JSONSerialization.data(withJSONObject: other)).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }

    func createLive() throws {
        try pool.write { try $0.execute(sql: LiveRule.schema) }
    }

    func appendLive(_ events: [LiveEvent], perCommit: Int) throws {
        for start in stride(from: 0, to: events.count, by: perCommit) {
            try pool.write { database in
                let insert = try database.cachedStatement(
                    sql: "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)")
                let rules = try LiveRule.all.map { try database.cachedStatement(sql: $0.sql) }
                for event in events[start..<min(start + perCommit, events.count)] {
                    try insert.execute(arguments: event.columns)
                    for change in event.changes {
                        try rules[change.rule].execute(arguments: change.arguments)
                    }
                }
            }
        }
    }

    /// Returns the counts that are compared with Tapedeck's counts: shared videos and episodes.
    func liveChecksum() throws -> UInt64 {
        try pool.read { database in
            let videos = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM videoList WHERE broadcasts > 0")
            let episodes = try Int.fetchOne(database, sql: "SELECT count(*) FROM episode")
            return UInt64(videos ?? 0) << 32 | UInt64(episodes ?? 0)
        }
    }
}

/// A change that events of some types make to one table.
struct LiveRule {
    var types: [String]
    var sql: String
    /// The arguments of the statement: payload fields by their JSON names, and `@at`, `@day` and
    /// `@id`.
    ///
    /// The rule does not apply to events without the first of these fields.
    var fields: [String]

    init(_ types: String..., fields: [String], _ sql: String) {
        (self.types, self.fields, self.sql) = (types, fields, sql)
    }
}
