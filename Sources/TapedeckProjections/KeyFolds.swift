internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Projections as of a point in history, folded in memory, and only as far as the requests require.
///
/// If the state or the items of a key are requested, only that key is folded, on the first request.
/// Rows can come from any key. If all events of the requested rows share a tag, only the keys of
/// events with that tag are folded. Otherwise, all keys are folded, provided that the projection
/// has few events. Requests beyond the limits fail and set `isExceeded`; the caller must then build
/// the projections completely.
final class KeyFolds {
    /// The maximum number of events to fold for the rows of a projection.
    ///
    /// If the caller requests only the rows of events with a tag, only events with that tag count.
    static let eventsForRowsMax = 1 << 15
    /// The maximum number of events that are folded for one reader.
    static let eventsMax = KeyFolder.eventsMax

    /// Whether a request exceeded the limits.
    private(set) var isExceeded = false

    private let folder: KeyFolder
    private var keys: [[Tag: FoldedKey]]
    /// All rows of each projection, sorted by key.
    private var rows: [[Row]?]
    private var tagged: [TaggedRows: [Row]] = [:]
    private var foldedCount = 0

    private struct TaggedRows: Hashable {
        var driver: Int
        var tag: Tag
    }

    private struct Exceeded: Error {}

    init(_ folder: KeyFolder) {
        self.folder = folder
        keys = folder.routing.drivers.map { _ in [:] }
        rows = folder.routing.drivers.map { _ in nil }
    }

    /// Returns the index of a projection; nil if this object does not fold the projection.
    func place(of fingerprint: Digest16) -> Int? {
        folder.routing.drivers.firstIndex { $0.fingerprint == fingerprint }
    }

    /// Folds a key of the projection at index `driver` on first use and returns it.
    func key(_ key: Tag, _ driver: Int) throws -> FoldedKey {
        if let known = keys[driver][key] { return known }
        return try givingUp {
            let folded = try folder.log.readNaming { records in
                let events = try folder.events(of: key, driver, records)
                try count(events.count)
                return folder.fold(key, driver, events)
            }
            keys[driver][key] = folded
            return folded
        }
    }

    /// Returns the rows of a projection in order, with keys that start with the table number.
    ///
    /// - Parameter tag: A tag that all events of the requested rows have; nil for all rows.
    func rows(_ driver: Int, eventsTagged tag: Tag?) throws -> [Row] {
        if let known = rows[driver] { return known }
        guard let tag else {
            let all = try givingUp { try allRows(driver) }
            rows[driver] = all
            return all
        }
        let place = TaggedRows(driver: driver, tag: tag)
        if let known = tagged[place] { return known }
        let found = try givingUp { try rows(driver, ofEventsWith: tag) }
        tagged[place] = found
        return found
    }

    // MARK: - Folding

    private func givingUp<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error where error is Exceeded || error is KeyFolder.TooManyEvents {
            isExceeded = true
            throw error
        }
    }

    private func count(_ events: Int) throws {
        foldedCount += events
        if foldedCount > KeyFolds.eventsMax { throw Exceeded() }
    }

    /// Folds every key, and reads each event of the projection's types once.
    private func allRows(_ driver: Int) throws -> [Row] {
        let projection = folder.routing.drivers[driver]
        return try folder.log.readNaming { records in
            var events: [Tag: [EventReference]] = [:]
            var found = 0
            for type in projection.eventTypes {
                try folder.log.forEachRecord(of: type, through: folder.through, records) { record in
                    try folder.routing.check(record)
                    found += 1
                    if found > KeyFolds.eventsForRowsMax { throw Exceeded() }
                    guard let event = folder.admission.admit(record) else { return }
                    record.forEachTag { tag in
                        guard Routing.begins(tag, with: projection.tagPrefix) else { return }
                        let key = Tag(unchecked: String(decoding: tag, as: UTF8.self))
                        events[key, default: []].append(event)
                    }
                }
            }
            try count(found)
            var rows: [Row] = []
            for (key, var events) in events {
                events.sortCanonically()
                let folded = folder.fold(key, driver, events)
                keys[driver][key] = folded
                rows += try folded.rows(key, projection)
            }
            return KeyFolds.sorted(rows)
        }
    }

    private func rows(_ driver: Int, ofEventsWith tag: Tag) throws -> [Row] {
        let projection = folder.routing.drivers[driver]
        var names: Set<Tag> = []
        try folder.log.readNaming { records in
            try folder.forEachRecord(
                of: tag, driver, records, max: KeyFolds.eventsForRowsMax
            ) { record in
                record.forEachTag { tag in
                    guard Routing.begins(tag, with: projection.tagPrefix) else { return }
                    names.insert(Tag(unchecked: String(decoding: tag, as: UTF8.self)))
                }
            }
        }
        return KeyFolds.sorted(try names.flatMap { try key($0, driver).rows($0, projection) })
    }

    private static func sorted(_ rows: [Row]) -> [Row] {
        rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}
