internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Folds single keys, found by the log's index of tags, in memory: as of a point of history, without some
/// events.
///
/// What comes out is what a rebuild of the whole projection would make of the key.
struct KeyFolder {
    /// The most events of a key that is folded alone: each takes some 200 bytes while it is.
    static let eventsMax = 1 << 20

    let log: EventLog
    let routing: Routing
    let admission: EventAdmission
    /// The last position that is looked at.
    let through: UInt64

    /// - Parameter leftOut: events that do not count.
    init(
        _ log: EventLog, _ drivers: [ProjectionDriver], _ limit: Rebuild.Limit = .none,
        leftOut: [EventID] = []
    ) throws {
        log.settleBuffered()
        var end = try log.currentHead().rawValue
        if case .position(let position) = limit { end = min(end, position.rawValue) }
        self.log = log
        through = end
        // Asked behind the end: it knows every type and origin of the events up to there.
        let routing = try Routing(drivers, log)
        self.routing = routing
        let positions = try log.readNaming { records in
            try leftOut.map { try KeyFolder.position(of: $0, in: log, records) }
        }
        admission = EventAdmission(
            try OverrideTable(log), origins: routing.origins, limit: limit,
            leftOut: Set(positions))
    }

    /// Throws `ProjectionError` with `.notFound` for an event that is not recorded, or was not yet.
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
            hint: "storectl log prints the events that there are")
    }

    /// Calls `body` with every event of a key that a projection wants, in the order of the log.
    func forEachRecord(
        of key: Tag, _ driver: Int, _ records: borrowing ReadTransaction,
        max: Int = KeyFolder.eventsMax, _ body: (RecordView) throws -> Void
    ) throws {
        let types = routing.typeIndexes[driver]
        var count = 0
        var last: UInt64 = 0
        try log.forEachRecord(tagged: key, through: through, records) { record in
            try routing.check(record)
            // An event that names its key twice comes twice.
            guard types[Int(record.type)] >= 0, record.position != last else { return }
            last = record.position
            count += 1
            guard count <= max else { throw TooManyEvents() }
            try body(record)
        }
    }

    /// The events of a key that count, in canonical order.
    ///
    /// Throws `TooManyEvents` where there are more than `max`.
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

    /// Folds a key of the `driver`-th of the drivers.
    func fold(
        _ key: Tag, _ driver: Int, _ records: borrowing ReadTransaction
    ) throws -> FoldedKey {
        fold(key, driver, try events(of: key, driver, records))
    }

    /// Folds events, which are all of a key, in canonical order.
    func fold(_ key: Tag, _ driver: Int, _ events: [EventReference]) -> FoldedKey {
        let folded = FoldedKey()
        var output = KeyOutput()
        routing.drivers[driver].foldAll(
            key: key, events: events, typeIndex: routing.typeIndexes[driver], items: folded.items,
            into: &output)
        folded.take(output)
        return folded
    }

    /// The name that an event has now.
    func name(of record: RecordView) -> EventID {
        EventID(origin: routing.origins[Int(record.origin)], sequence: record.sequence)
    }

    /// A key has more events than were to be folded.
    struct TooManyEvents: Error {}
}

/// What a fold has made of one key.
final class FoldedKey {
    /// As in the table of states; empty where nothing was folded.
    private(set) var stored: [UInt8] = []
    let items: MemoryItems
    /// The rows of the state; see `rows(_:_:)` for those of items.
    private(set) var stateRows: [Row] = []
    private(set) var poison: (id: EventID, position: UInt64, reason: String)?

    init(_ items: MemoryItems = MemoryItems()) { self.items = items }

    func take(_ output: borrowing KeyOutput) {
        stored = output.stored.bytes
        stateRows = output.rows.rows
        poison = output.poison
    }

    /// All rows that the key yields, each key with its table in front, as in the table of rows; in no
    /// order.
    func rows(_ key: Tag, _ driver: ProjectionDriver) throws -> [Row] {
        guard driver.itemsYieldRows, !stored.isEmpty else { return stateRows }
        var sink = RowSink()
        try items.forEach { name, value in
            try driver.rows(
                ofItem: Row(key: Array(name), value: Array(value)), key: key, into: &sink)
        }
        return stateRows + sink.rows
    }

    /// The items in the order of their names.
    private(set) lazy var itemRows: [Row] = {
        var rows: [Row] = []
        rows.reserveCapacity(items.count)
        items.forEach { rows.append(Row(key: Array($0), value: Array($1))) }
        return rows
    }()

    /// Whether two folds of a key have made the same of it.
    ///
    /// Rows follow from the state and the items. How many events were folded, and which was the last, is no
    /// part of what a key is.
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

    /// The items with their lengths, in the order of their names.
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
    /// The rows, each key with its table in front.
    var rows: [Row] {
        entries.map { entry in
            let middle = entry.keyStart + entry.keyCount
            return Row(
                key: [UInt8(entry.table)] + bytes[entry.keyStart..<middle],
                value: Array(bytes[middle..<middle + entry.valueCount]))
        }
    }
}
