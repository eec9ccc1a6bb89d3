internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Folds single keys in memory, as of a point in history and optionally without some events.
///
/// The events are found in the log's tag index. The result is the same as after a rebuild of the
/// projection.
struct KeyFolder {
    /// The maximum number of events of a key that can be folded; each event takes about 200 bytes
    /// during the fold.
    static let eventsMax = 1 << 20

    let log: EventLog
    let routing: Routing
    let admission: EventAdmission
    /// The last log position to read.
    let through: UInt64

    /// - Parameter excluded: The events to ignore.
    init(
        _ log: EventLog, _ drivers: [ProjectionDriver], _ limit: Rebuild.Limit = .none,
        excluded: [EventID] = []
    ) throws {
        log.settleBuffered()
        var end = try log.currentHead().rawValue
        if case .position(let position) = limit { end = min(end, position.rawValue) }
        self.log = log
        through = end
        // The routing is created after the head has been read, so it contains the types and origins
        // of all events up to the head.
        let routing = try Routing(drivers, log)
        self.routing = routing
        let positions = try log.readNaming { records in
            try excluded.map { try KeyFolder.position(of: $0, in: log, records) }
        }
        admission = EventAdmission(
            try OverrideTable(log), origins: routing.origins, limit: limit,
            excluded: Set(positions))
    }

    /// Returns the position of an event.
    ///
    /// Throws `ProjectionError` with `.notFound` if the event is unknown or was recorded after
    /// `through`.
    func position(of event: EventID, _ records: borrowing ReadTransaction) throws -> UInt64 {
        let position = try KeyFolder.position(of: event, in: log, records)
        guard position <= through else { throw KeyFolder.isNoEvent(event) }
        return position
    }

    private static func position(
        of event: EventID, in log: EventLog, _ records: borrowing ReadTransaction
    ) throws -> UInt64 {
        guard let position = try log.position(of: event, records) else { throw isNoEvent(event) }
        return position
    }

    private static func isNoEvent(_ event: EventID) -> ProjectionError {
        ProjectionError(
            .notFound, "there is no event \(event) in this store",
            hint: "storectl log prints the recorded events")
    }

    /// Calls `body` with those events of a key whose types the projection folds, in log order.
    func forEachRecord(
        of key: Tag, _ driver: Int, _ records: borrowing ReadTransaction,
        max: Int = KeyFolder.eventsMax, _ body: (RecordView) throws -> Void
    ) throws {
        let types = routing.typeIndexes[driver]
        var count = 0
        var last: UInt64 = 0
        try log.forEachRecord(tagged: key, through: through, records) { record in
            try routing.check(record)
            // An event that has the key twice among its tags is listed twice.
            guard types[Int(record.type)] >= 0, record.position != last else { return }
            last = record.position
            count += 1
            guard count <= max else { throw TooManyEvents() }
            try body(record)
        }
    }

    /// Returns the events of a key in canonical order, without ignored events.
    ///
    /// Throws `TooManyEvents` if the key has more than `max` events.
    func events(
        of key: Tag, _ driver: Int, _ records: borrowing ReadTransaction,
        max: Int = KeyFolder.eventsMax
    ) throws -> [EventReference] {
        var events: [EventReference] = []
        try forEachRecord(of: key, driver, records, max: max) { record in
            if let event = admission.admit(record) { events.append(event) }
        }
        events.sortCanonically()
        return events
    }

    /// Folds a key for the projection of the driver at index `driver`.
    func fold(
        _ key: Tag, _ driver: Int, _ records: borrowing ReadTransaction
    ) throws -> FoldedKey {
        fold(key, driver, try events(of: key, driver, records))
    }

    /// Folds all events of a key; `events` must be in canonical order.
    func fold(_ key: Tag, _ driver: Int, _ events: [EventReference]) -> FoldedKey {
        let folded = FoldedKey()
        var output = KeyOutput()
        routing.drivers[driver].foldAll(
            key: key, events: events, typeIndex: routing.typeIndexes[driver], items: folded.items,
            into: &output)
        folded.take(output)
        return folded
    }

    /// Returns the current id of an event.
    func name(of record: RecordView) -> EventID {
        EventID(origin: routing.origins[Int(record.origin)], sequence: record.sequence)
    }

    /// Thrown if a key has more events than allowed.
    struct TooManyEvents: Error {}
}

/// The result of folding one key.
final class FoldedKey {
    /// The row as stored in the table of states; empty if nothing was folded.
    private(set) var stored: [UInt8] = []
    let items: MemoryItems
    /// The rows of the state; `rows(_:_:)` adds the rows of the items.
    private(set) var stateRows: [Row] = []
    private(set) var poison: (id: EventID, position: UInt64, reason: String)?

    init(_ items: MemoryItems = MemoryItems()) { self.items = items }

    func take(_ output: borrowing KeyOutput) {
        stored = output.stored.bytes
        stateRows = output.rows.rows
        poison = output.poison
    }

    /// Returns all rows of the key, unsorted; as in the table of rows, their keys start with the
    /// table number.
    func rows(_ key: Tag, _ driver: ProjectionDriver) throws -> [Row] {
        guard driver.itemsYieldRows, !stored.isEmpty else { return stateRows }
        var sink = RowSink()
        try items.forEach { name, value in
            try driver.rows(
                ofItem: Row(key: Array(name), value: Array(value)), key: key, into: &sink)
        }
        return stateRows + sink.rows
    }

    /// The items in name order.
    private(set) lazy var itemRows: [Row] = {
        var rows: [Row] = []
        rows.reserveCapacity(items.count)
        items.forEach { rows.append(Row(key: Array($0), value: Array($1))) }
        return rows
    }()

    /// Returns whether two folds of a key have the same result.
    ///
    /// Compares the states and items, which determine the rows. Ignores the number of folded events
    /// and the last event, which are not part of the result.
    func isSame(as other: FoldedKey, law: FoldLaw) throws -> Bool {
        guard stored.isEmpty == other.stored.isEmpty else { return false }
        if stored.isEmpty { return true }
        return try stored.withUnsafeBytes { left in
            try other.stored.withUnsafeBytes { right in
                let (left, right) = (
                    try StoredKey(left, law: law), try StoredKey(right, law: law)
                )
                return left.isFrozen == right.isFrozen && left.state.elementsEqual(right.state)
            }
        } && itemBytes == other.itemBytes
    }

    /// The items with their lengths, in name order.
    private lazy var itemBytes: [UInt8] = {
        var bytes: [UInt8] = []
        items.forEach { name, value in
            bytes.appendVarint(UInt64(name.count))
            bytes.append(contentsOf: name)
            bytes.appendVarint(UInt64(value.count))
            bytes.append(contentsOf: value)
        }
        return bytes
    }()
}

extension RowSink {
    /// The rows, with keys that start with the table number.
    var rows: [Row] {
        entries.map { entry in
            let middle = entry.keyStart + entry.keyCount
            return Row(
                key: [UInt8(entry.table)] + bytes[entry.keyStart..<middle],
                value: Array(bytes[middle..<middle + entry.valueCount]))
        }
    }
}
