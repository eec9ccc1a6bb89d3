internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// The result of folding all or part of a partition, as bytes to be written in order.
///
/// Its memory is used again after it has been written, because new memory costs a page fault for
/// every 4 KiB.
struct PartitionOutput: @unchecked Sendable {
    /// The output of one projection.
    final class Part {
        let states = RowBatch()
        let items = RowBatch()
        /// The rows, sorted by row key.
        var rows = RowBatch()
        let checkpoints = RowBatch()
        var frozen: [(key: [UInt8], info: FrozenKey)] = []

        var isEmpty: Bool { byteCount == 0 && frozen.isEmpty }
        var byteCount: Int {
            states.bytes.count + items.bytes.count + rows.bytes.count + checkpoints.bytes.count
        }

        /// Removes everything; the rows were passed on.
        fileprivate func removeAll() {
            for batch in [states, items, checkpoints] { batch.removeAll() }
            rows = RowBatch()
            frozen.removeAll()
        }
    }

    var number: Int
    var parts: [Part]

    init(_ number: Int, drivers: Int) {
        self.number = number
        parts = (0..<drivers).map { _ in Part() }
    }

    /// Removes everything.
    func removeAll() {
        for part in parts { part.removeAll() }
    }

    var byteCount: Int { parts.reduce(0) { $0 + $1.byteCount } }
}

/// Folds the keys of partitions, one partition at a time; each worker has its own folder.
final class PartitionFolder {
    private let log: EventLog
    private let routing: Routing
    private let admission: EventAdmission
    private let items = MemoryItems()
    // Swift's checks for overlapping access would take time for every key. The accesses never
    // overlap: a folder belongs to one thread, and functions that receive these variables never
    // call back into the folder.
    @exclusivity(unchecked) private var order: EntryOrder
    @exclusivity(unchecked) private var events: [EventReference] = []
    @exclusivity(unchecked) private var folded = KeyOutput()
    /// The receiver of the results.
    private let handover: OrderedHandover<PartitionOutput>
    /// Returns an empty output.
    private let output: (_ number: Int) -> PartitionOutput

    /// The size, in bytes, above which a projection's output is handed over before the partition is
    /// finished.
    ///
    /// A single key can have many items.
    private let partBytesMax: Int

    /// The number of events in a key above which the event buffer is released afterwards.
    private static let eventsKeptMax = 1 << 14
    /// The number of entries to prefetch ahead of folding.
    private static let prefetchedCount = 12

    init(
        _ log: EventLog, _ routing: Routing, _ admission: EventAdmission,
        _ order: consuming EntryOrder, partBytesMax: Int,
        output: @escaping (_ number: Int) -> PartitionOutput,
        into handover: OrderedHandover<PartitionOutput>
    ) {
        self.output = output
        self.partBytesMax = partBytesMax
        self.log = log
        self.routing = routing
        self.admission = admission
        self.order = order
        self.handover = handover
    }

    /// Folds a partition and hands over the result.
    func fold(_ number: Int, _ all: [PartitionEntries]) throws {
        let entries = order.sorted(try all.flatMap { try $0.take(number) })
        var output = output(number)
        var start = 0
        while start < entries.count {
            // Each transaction makes a limited number of lookups, so that it does not pin old pages
            // for long.
            let from = start
            start = try log.read { transaction in
                let records = RecordSource(
                    map: try transaction.leafMap(self.log.recordTable), log: self.log,
                    transaction: transaction.alias)
                return try entries.withUnsafeBufferPointer { entries in
                    var next = from
                    while next < entries.count, next - from < EventLog.recordsPerTransactionMax {
                        var end = next + 1
                        while end < entries.count, entries[end].hash == entries[next].hash {
                            end += 1
                        }
                        try self.foldGroup(next..<end, of: entries, records, into: &output)
                        next = end
                    }
                    return next
                }
            }
        }
        put(output, isLast: true)
    }

    private func put(_ output: PartitionOutput, isLast: Bool) {
        for part in output.parts { part.rows = part.rows.sorted() }
        let byteCount = output.byteCount
        handover.put(output.number, output, byteCount: byteCount, isLast: isLast)
    }

    /// Folds the keys that have the same hash; there is nearly always only one such key.
    private func foldGroup(
        _ range: Range<Int>, of entries: UnsafeBufferPointer<PartitionEntries.Entry>,
        _ records: RecordSource, into output: inout PartitionOutput
    ) throws {
        var rest: [(record: RecordView, tag: UnsafeRawBufferPointer)] = []
        var key: UnsafeRawBufferPointer?
        events.removeAll(keepingCapacity: events.capacity <= PartitionFolder.eventsKeptMax)
        events.reserveCapacity(range.count)
        var last: EventPlace?
        for index in range where entries[index].place != last {
            let entry = entries[index]
            last = entry.place
            let ahead = index + PartitionFolder.prefetchedCount
            if ahead < entries.count { records.prefetch(entries[ahead].place) }
            let record = try records.record(at: entry.place)
            routing.forEachKey(of: record) { tag in
                if let key, key.holdsSame(as: tag) {
                    self.admit(record)
                    return
                }
                guard ViewKey.hash(of: tag) == entry.hash else { return }
                if key == nil {
                    key = tag
                    self.admit(record)
                } else {
                    rest.append((record, tag))
                }
            }
        }
        guard let key else { return }
        guard !rest.isEmpty else { return try foldKey(key, into: &output) }
        // Process keys with the same hash in the order of their bytes, as in the tables.
        var groups: [[UInt8]: [RecordView]] = [:]
        for (record, tag) in rest { groups[Array(tag), default: []].append(record) }
        let first = events
        for name in (groups.keys + [Array(key)]).sorted(by: { ViewKeyOrder.precedes($0, $1) }) {
            if let records = groups[name] {
                events.removeAll(keepingCapacity: true)
                for record in records { admit(record) }
            } else {
                events = first
            }
            try name.withUnsafeBytes { try foldKey($0, into: &output) }
        }
    }

    @inline(__always)
    private func admit(_ record: RecordView) {
        if let event = admission.admit(record) { events.append(event) }
    }

    private func foldKey(
        _ tag: UnsafeRawBufferPointer, into output: inout PartitionOutput
    ) throws {
        guard !events.isEmpty else { return }
        events.sortCanonically()
        let key = Tag(unchecked: String(decoding: tag, as: UTF8.self))
        let viewKey = ViewKey(tag: tag)
        let wanted = routing.drivers(of: events)
        // Iterating over the drivers themselves would retain and release every one of them.
        for index in routing.drivers.indices where wanted.contains(index) {
            let driver = routing.drivers[index]
            guard Routing.begins(tag, with: driver.tagPrefix) else { continue }
            folded.removeAll()
            items.removeAll()
            driver.foldAll(
                key: key, events: events, typeIndex: routing.typeIndexes[index], items: items,
                into: &folded)
            try write(index, driver, key, viewKey, into: &output)
        }
    }

    /// Hands over the current output, and returns the empty part of a projection in the next one.
    private func handOver(_ index: Int, _ output: inout PartitionOutput) -> PartitionOutput.Part {
        put(output, isLast: false)
        output = self.output(output.number)
        return output.parts[index]
    }

    /// Writes the result of folding a key for one projection.
    private func write(
        _ index: Int, _ driver: ProjectionDriver, _ key: Tag, _ viewKey: ViewKey,
        into output: inout PartitionOutput
    ) throws {
        guard !folded.stored.bytes.isEmpty else { return }
        let itemsYieldRows = driver.itemsYieldRows
        var part = output.parts[index]
        try viewKey.bytes.withUnsafeBytes { name in
            folded.stored.bytes.withUnsafeBytes { part.states.add(name, value: $0) }
            try items.forEach { item, value in
                part.items.add(name, item, value: value)
                if itemsYieldRows {
                    try driver.rows(
                        ofItem: Row(key: Array(item), value: Array(value)), key: key,
                        into: &folded.rows)
                    moveRows(to: part.rows)
                }
                if part.byteCount > partBytesMax { part = handOver(index, &output) }
            }
        }
        moveRows(to: part.rows)
        writeExtra(driver, key, viewKey, into: part)
        if part.byteCount > partBytesMax { _ = handOver(index, &output) }
    }

    /// Moves the rows of the folded key to the end of `rows`.
    private func moveRows(to rows: RowBatch) {
        guard !folded.rows.entries.isEmpty else { return }
        folded.rows.bytes.withUnsafeBytes { all in
            for entry in folded.rows.entries {
                let table = UInt8(entry.table)
                let end = entry.keyStart + entry.keyCount
                withUnsafeBytes(of: table) { table in
                    rows.add(
                        table, UnsafeRawBufferPointer(rebasing: all[entry.keyStart..<end]),
                        value: UnsafeRawBufferPointer(rebasing: all[end..<end + entry.valueCount]))
                }
            }
        }
        folded.rows.removeAll()
    }

    private func writeExtra(
        _ driver: ProjectionDriver, _ key: Tag, _ viewKey: ViewKey,
        into part: PartitionOutput.Part
    ) {
        if !folded.checkpoints.isEmpty {
            for (order, row) in folded.checkpoints.suffix(Rebuild.checkpointsPerKeyMax) {
                ExtraKey.checkpoint(viewKey, order).withUnsafeBytes { name in
                    row.withUnsafeBytes { part.checkpoints.add(name, value: $0) }
                }
            }
        }
        if let poison = folded.poison {
            part.frozen.append(
                (
                    viewKey.bytes,
                    FrozenKey(
                        projection: driver.name, key: key.text, event: poison.id.description,
                        position: poison.position, reason: poison.reason)
                ))
        }
    }
}

/// Reads records again inside one read transaction.
struct RecordSource {
    let map: LeafMap?
    let log: EventLog
    let transaction: TransactionAlias

    @inline(__always)
    func prefetch(_ place: EventPlace) {
        if place.position == nil { map?.prefetch(place.inMap) }
    }

    /// Returns the record of an event.
    ///
    /// The checksum is not verified again, because the scan that found the event has verified it.
    @inline(__always)
    func record(at place: EventPlace) throws -> RecordView {
        guard let position = place.position else {
            guard let (key, value) = map?.entry(at: place.inMap) else {
                throw LogError(
                    .damaged, "an event disappeared from the log during the replay")
            }
            return try log.record(value, at: key, checked: false)
        }
        guard let found = try transaction.get(log.recordTable, integer: position) else {
            throw LogError(
                .damaged, "the event at position \(position) disappeared during the replay",
                position: LogPosition(rawValue: position))
        }
        return try log.record(found, at: position, checked: false)
    }
}

/// The order of keys with the same hash in the tables.
enum ViewKeyOrder {
    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let left = left.withUnsafeBytes { ViewKey(tag: $0).bytes }
        let right = right.withUnsafeBytes { ViewKey(tag: $0).bytes }
        return left.lexicographicallyPrecedes(right)
    }
}
