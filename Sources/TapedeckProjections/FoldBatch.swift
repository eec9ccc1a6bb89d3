internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// Events behind a checkpoint, by the keys that they concern, copied out of the log.
///
/// So nobody holds a transaction of the log while keys are folded. It is filled by one thread and then only
/// read, by several.
final class FoldBatch: @unchecked Sendable {
    /// Events of one batch.
    static let eventsMax: UInt64 = 16_384
    /// A batch ends behind the records with which it has so many bytes.
    static let bytesMax = 8 << 20
    /// Changed stamps taken in by one batch.
    static let overridesMax = 2_048
    /// Records read between looking how many bytes there are.
    private static let eventsPerLook: UInt64 = 64

    /// How far the projections have come with it.
    let reached: ProjectionCheckpoint
    /// What the log holds up to there.
    let history: HistoryMark
    let admission: EventAdmission
    /// The events in the order of the log.
    private var events: [EventReference] = []
    private var entries: [Entry] = []
    /// Where the entries of each key hash begin in `entries`, and where the last ones end.
    private var starts: [Int] = []
    private let copies = RecordCopies()

    /// That an event concerns a key.
    private struct Entry {
        let hash: UInt64
        let tag: UnsafeRawBufferPointer
        /// Its place among the events; nil where the key starts anew.
        let event: Int?
    }

    /// Takes up to `eventsMax` events behind `from`.
    ///
    /// - Parameter through: the last position of which `routing` knows the type and origin.
    init(
        _ log: EventLog, _ file: ViewsFile, from: ProjectionCheckpoint, through: UInt64,
        _ routing: Routing, _ admission: EventAdmission, _ records: borrowing ReadTransaction
    ) throws {
        guard try log.checksum(at: from.position, records) == from.checksum else {
            throw ReplacedLog(file: file)
        }
        self.admission = admission
        // Events behind the checkpoint whose place or fate has changed since: their keys start anew.
        let (changed, lastChange) = try log.overrides(
            records, changedAfter: from.overrides, limit: FoldBatch.overridesMax)
        var position = from.position
        var events: [EventReference] = []
        var entries: [Entry] = []
        let copies = copies
        func add(_ record: RecordView, event: Int?) {
            routing.forEachKey(of: record) { tag in
                entries.append(Entry(hash: ViewKey.hash(of: tag), tag: tag, event: event))
            }
        }
        for row in changed where row.position <= position {
            guard let bytes = try records.get(log.recordTable, integer: row.position) else {
                continue
            }
            let record = try log.record(bytes, at: row.position)
            try routing.check(record)
            add(copies.copy(record), event: nil)
        }
        let end = max(position, min(position + FoldBatch.eventsMax, through))
        while position < end, copies.byteCount < FoldBatch.bytesMax {
            let look = try log.endOfRecord(
                at: min(end, position + FoldBatch.eventsPerLook), records)
            let next = try log.scan(records, after: position, through: look) { record in
                try routing.check(record)
                guard routing.concerns(record), var event = admission.admit(record) else { return }
                event.record = copies.copy(record)
                add(event.record, event: events.count)
                events.append(event)
            }
            guard next > position else { break }
            position = next
        }
        guard let checksum = try log.checksum(at: position, records) else {
            throw ReplacedLog(file: file)
        }
        history = try log.historyMark(through: position, change: lastChange, records)
        reached = ProjectionCheckpoint(
            position: position, overrides: lastChange, checksum: checksum)
        // Those of a key stay in the order of the log.
        entries.sort {
            $0.hash != $1.hash ? $0.hash < $1.hash : ($0.event ?? -1) < ($1.event ?? -1)
        }
        self.entries = entries
        self.events = events
        for index in self.entries.indices
        where index == 0 || self.entries[index].hash != self.entries[index - 1].hash {
            starts.append(index)
        }
        starts.append(self.entries.count)
    }

    /// The keys, about as many events in each part, in the order of the tables.
    func parts(_ count: Int) -> [Range<Int>] {
        let groups = starts.count - 1
        var parts: [Range<Int>] = []
        var start = 0
        for part in 0..<count {
            let last = entries.count * (part + 1) / count
            var end = start
            while end < groups, starts[end] < last { end += 1 }
            if end > start { parts.append(start..<end) }
            start = end
        }
        return parts
    }

    /// How many times an event concerns a key.
    var entryCount: Int { entries.count }

    /// Calls `body` with each key of a part, with its events in canonical order, and whether it starts anew.
    func forEachKey(
        in part: Range<Int>,
        _ body: (UnsafeRawBufferPointer, [EventReference], _ isDirty: Bool) throws -> Void
    ) rethrows {
        var found: [EventReference] = []
        func take(_ entries: ArraySlice<Entry>) throws {
            guard let tag = entries.first?.tag else { return }
            var isDirty = false
            found.removeAll(keepingCapacity: true)
            for entry in entries {
                if let event = entry.event { found.append(events[event]) } else { isDirty = true }
            }
            found.sortCanonically()
            try body(tag, found, isDirty)
        }
        for group in part {
            let all = entries[starts[group]..<starts[group + 1]]
            let tag = all[all.startIndex].tag
            if all.allSatisfy({ $0.tag.holdsSame(as: tag) }) {
                try take(all)
                continue
            }
            // Several keys of one hash go in the order in which the tables have them.
            let keys = Dictionary(grouping: all) { Array($0.tag) }
            for name in keys.keys.sorted(by: ViewKeyOrder.precedes) {
                try take((keys[name] ?? [])[...])
            }
        }
    }
}

/// Copies of records, which hold as long as it does.
private final class RecordCopies {
    private static let blockCount = 1 << 18
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var end = 0
    private(set) var byteCount = 0

    deinit {
        for block in blocks { block.deallocate() }
    }

    func copy(_ record: RecordView) -> RecordView {
        let count = record.bytes.count
        if blocks.last.map({ end + count > $0.count }) ?? true {
            blocks.append(
                .allocate(byteCount: max(count, RecordCopies.blockCount), alignment: 16))
            end = 0
        }
        let block = blocks[blocks.count - 1]
        let copy = UnsafeMutableRawBufferPointer(rebasing: block[end..<end + count])
        copy.copyMemory(from: record.bytes)
        end += count
        byteCount += count
        guard let copied = RecordView(UnsafeRawBufferPointer(copy)) else {
            preconditionFailure("a record's copy is a record")
        }
        return copied
    }
}
