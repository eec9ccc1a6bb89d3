internal import TapedeckLMDB
internal import TapedeckLog
@_spi(Core) internal import TapedeckModel

/// The events after a checkpoint, copied out of the log and grouped by key.
///
/// The copies allow folding without an open log transaction. One thread fills the batch;
/// afterwards, several threads read it.
final class FoldBatch: @unchecked Sendable {
    /// The maximum number of events in a batch.
    static let eventsMax: UInt64 = 16_384
    /// The number of bytes at which a batch ends; the batch can be larger, because the count
    /// is checked only once every `eventsPerLook` records.
    static let bytesMax = 8 << 20
    /// The maximum number of changed stamps in a batch.
    static let overridesMax = 2_048
    /// The number of records read between checks of the byte count.
    private static let eventsPerLook: UInt64 = 64

    /// The checkpoint of the projections once the batch is folded.
    let reached: ProjectionCheckpoint
    /// The state of the log at the checkpoint `reached`.
    let history: HistoryMark
    let admission: EventAdmission
    /// The events in log order.
    private var events: [EventReference] = []
    private var entries: [Entry] = []
    /// The index in `entries` of the first entry of each key hash, followed by the end index of
    /// `entries`.
    private var starts: [Int] = []
    private let copies = RecordCopies()

    /// A reference from a key to one of its events.
    private struct Entry {
        let hash: UInt64
        let tag: UnsafeRawBufferPointer
        /// The index in `events`; nil if the key must be folded again from the start.
        let event: Int?
    }

    /// Reads up to `eventsMax` events after `from`.
    ///
    /// - Parameter through: The last position for which `routing` knows the event types and
    ///   origins.
    init(
        _ log: EventLog, _ file: ViewsFile, from: ProjectionCheckpoint, through: UInt64,
        _ routing: Routing, _ admission: EventAdmission, _ records: borrowing ReadTransaction
    ) throws {
        guard try log.checksum(at: from.position, records) == from.checksum else {
            throw ReplacedLog(file: file)
        }
        self.admission = admission
        // Find the events whose stamp or refusal has changed since the checkpoint; their keys must
        // be refolded.
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
        // Sort by key hash, and keep the events of each key in log order.
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

    /// Divides the keys, in table order, into parts with about the same number of events.
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

    /// The number of pairs of an event and one of its keys.
    var entryCount: Int { entries.count }

    /// Calls `body` with each key of a part, the events of the key in canonical order, and whether
    /// to refold the key from the start.
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
            // Process keys with the same hash in the order of the tables.
            let keys = Dictionary(grouping: all) { Array($0.tag) }
            for name in keys.keys.sorted(by: ViewKeyOrder.precedes) {
                try take((keys[name] ?? [])[...])
            }
        }
    }
}

/// Copies of records, valid for the lifetime of this object.
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
            preconditionFailure("the copy of a record must be a valid record")
        }
        return copied
    }
}
