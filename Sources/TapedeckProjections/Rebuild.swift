internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
package import TapedeckLog
@_spi(Core) package import TapedeckModel

/// # Rebuilding projections from the log
///
/// A rebuild is designed for two cores, millions of keys and bounded memory. Folding never looks up
/// keys:
///
/// 1. **Scan**: threads read the log once and verify every checksum. For each key of each event,
///    the threads put the hash of the key and the place of the event into one of up to 256
///    partitions, chosen by the first bits of the hash.
/// 2. **Fold**: threads take one partition at a time and sort its entries, which groups the events
///    of each key. For each key, a thread reads the events from the log, sorts late ones into
///    canonical order, folds the key once and discards its state.
/// 3. **Load**: one thread writes the results. Keys are ordered by hash and partitions are hash
///    ranges, so every table except the index rows is written sequentially. Index rows are sorted
///    per partition and merged at the end.
///
/// Memory holds the entries and rows of a few partitions, the pages of one transaction, and the
/// entries and rows allowed by `Budgets`. The remaining entries and index rows go to files
/// (`SpillFile`), so memory does not grow with the log.
package final class Rebuild: @unchecked Sendable {
    /// The end of the history to fold.
    package enum Limit: Sendable {
        case none
        /// The events of this store up to the given position, with all receipts that the log
        /// contains today.
        case position(LogPosition)
        /// The events whose effective stamp is not later than the given stamp, according to the
        /// receipts that the log contains today.
        case time(Stamp)
    }

    /// The progress of a rebuild.
    package struct Progress: Sendable {
        package var phase: String
        package var done: UInt64
        package var total: UInt64
    }

    /// The results of a rebuild and the durations of its phases.
    package struct Report: Sendable {
        package var events: UInt64 = 0
        package var seconds: [(phase: String, seconds: Double)] = []
        package var projections: [ProjectionReport] = []
        package var frozen: [FrozenKey] = []
        package var checkpoint = ProjectionCheckpoint.start
        /// The number of bytes of entries, and of rows, that were spilled to files.
        package var spilled = (entries: 0, rows: 0)
    }

    /// The default number of partitions that may wait to be written; it is raised if there are many
    /// workers.
    ///
    /// Other workers can therefore continue while one worker folds a large key.
    static let partitionsWaiting = 16
    /// The approximate number of output parts that the buffer of unwritten output can hold.
    static let partsWaiting = 8
    /// The maximum number of checkpoints within the events of one key; only the latest are kept.
    static let checkpointsPerKeyMax = 4

    private let log: EventLog
    private let drivers: [ProjectionDriver]
    private let workers: Int
    private let limit: Limit
    private let excluded: Set<UInt64>
    private let budgets: Budgets
    private let reportsProjections: Bool
    private let progress: @Sendable (Progress) -> Void
    private let isCancelled: @Sendable () -> Bool

    /// - Parameters:
    ///   - excluded: The positions of the events to exclude.
    ///   - reportsProjections: Whether the report has an entry for each projection. Computing the
    ///     digests for these entries takes almost a tenth of the time of a rebuild.
    package init(
        _ log: EventLog, _ drivers: [ProjectionDriver], workers: Int? = nil, limit: Limit = .none,
        excluded: Set<UInt64> = [], budgets: Budgets = Budgets(), reportsProjections: Bool = true,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) {
        self.log = log
        self.drivers = drivers
        self.workers = max(1, min(workers ?? ProcessInfo.processInfo.activeProcessorCount, 64))
        self.limit = limit
        self.excluded = excluded
        self.budgets = budgets
        self.reportsProjections = reportsProjections
        self.isCancelled = isCancelled
        self.progress = progress
    }

    /// Builds the tables of all drivers in a new file.
    package func run(into file: ViewsFile) throws -> Report {
        var head = try log.currentHead().rawValue
        if case .position(let position) = limit { head = min(head, position.rawValue) }
        let overrides = try OverrideTable(log)
        let routing = try Routing(drivers, log)
        let admission = EventAdmission(
            overrides, origins: routing.origins, limit: limit, excluded: excluded)
        var report = Report()
        report.events = try Rebuild.eventCount(
            log, limit, head: head, routing, admission)
        let history: HistoryMark
        (report.checkpoint, history) = try log.read { records in
            (
                ProjectionCheckpoint(
                    position: head, overrides: overrides.last,
                    checksum: try self.log.checksum(at: head, records) ?? 0),
                try self.log.historyMark(through: head, change: overrides.last, records)
            )
        }
        let loader = RebuildLoader(file, drivers, budgets, reports: reportsProjections)
        let partitions = try plan(routing, head: head)
        let spill = try SpillFile(file.environment.path + ".entries")
        let start = ContinuousClock.now
        let entries = try scan(routing, head: head, partitions, spillingTo: spill)
        let scanned = ContinuousClock.now - start
        try fold(entries, routing, admission, partitions, into: loader)
        let folded = ContinuousClock.now - start - scanned
        report.spilled = (spill.byteCount, loader.spilledCount)
        let started = ContinuousClock.now
        progress(Progress(phase: "load", done: 0, total: 1))
        report.projections = try loader.finish(report.checkpoint, history)
        report.frozen = loader.frozen
        progress(Progress(phase: "load", done: 1, total: 1))
        report.seconds = [
            ("scan", scanned.seconds), ("fold", folded.seconds),
            ("load", (ContinuousClock.now - started).seconds),
        ]
        return report
    }

    // MARK: - Scan

    /// Chooses the number of partitions from a sample of the log.
    private func plan(_ routing: Routing, head: UInt64) throws -> HashPartitions {
        let block: UInt64 = 64
        let blocks = min(64, head / block)
        guard blocks > 0 else { return HashPartitions(entries: 0) }
        var keys = 0
        for index in 0..<blocks {
            let from = head / blocks * index
            try log.scan(after: from, through: min(head, from + block)) { record in
                try routing.check(record)
                routing.forEachKey(of: record) { _ in keys += 1 }
            }
        }
        return HashPartitions(
            entries: Int(Double(keys) / Double(blocks * block) * Double(head)))
    }

    private func scan(
        _ routing: Routing, head: UInt64, _ partitions: HashPartitions, spillingTo spill: SpillFile
    ) throws -> [PartitionEntries] {
        let blockCount = UInt64(EventLog.recordsPerTransactionMax)
        let nextBlock = Atomic<UInt64>(0)
        let results = Mutex<[PartitionEntries]>([])
        try Threads.run(workers) { _ in
            let entries = PartitionEntries(
                partitions, entriesMax: self.budgets.entriesMax / self.workers, spillingTo: spill)
            while true {
                if self.isCancelled() { throw CancellationError() }
                let from = nextBlock.add(blockCount, ordering: .relaxed).oldValue
                if from >= head { break }
                entries.begin(block: from)
                try self.scan(
                    after: from, through: min(head, from + blockCount), head: head, routing, entries
                )
                try entries.keepBudget()
                self.progress(Progress(phase: "scan", done: from, total: head))
            }
            results.withLock { $0.append(entries) }
        }
        return results.withLock { $0 }
    }

    /// Scans one block in one transaction.
    private func scan(
        after: UInt64, through: UInt64, head: UInt64, _ routing: Routing,
        _ entries: PartitionEntries
    ) throws {
        try log.read { transaction in
            guard let map = try transaction.leafMap(self.log.recordTable) else {
                try self.log.scan(transaction, after: after, through: through) { record in
                    try routing.check(record)
                    routing.forEachKey(of: record) {
                        entries.add(
                            hash: ViewKey.hash(of: $0), EventPlace(position: record.position))
                    }
                }
                return
            }
            // The last page may be rewritten; records on all other pages stay in place.
            let settled = head - min(head, map.entriesPerPageMax)
            try self.log.scan(transaction, map, after: after, through: through) { record, place in
                try routing.check(record)
                routing.forEachKey(of: record) {
                    entries.add(
                        hash: ViewKey.hash(of: $0),
                        place > 0 && record.position <= settled
                            ? EventPlace(inMap: place) : EventPlace(position: record.position))
                }
            }
        }
    }

    // MARK: - Fold

    private func fold(
        _ entries: [PartitionEntries], _ routing: Routing, _ admission: EventAdmission,
        _ partitions: HashPartitions, into loader: RebuildLoader
    ) throws {
        let handover = OrderedHandover<PartitionOutput>(
            0..<partitions.count, window: max(Rebuild.partitionsWaiting, 2 * workers + 2),
            bytesMax: budgets.outputBytesMax)
        let workers = workers
        try Threads.run(workers + 1) { index in
            do {
                if index == workers {
                    while let outputs = handover.collect() {
                        try loader.load(outputs)
                        self.progress(
                            Progress(
                                phase: "fold",
                                done: UInt64(outputs.last?.number ?? 0),
                                total: UInt64(partitions.count)))
                    }
                    return
                }
                let folder = PartitionFolder(
                    self.log, routing, admission, EntryOrder(partitions),
                    partBytesMax: self.budgets.outputBytesMax / Rebuild.partsWaiting,
                    output: { loader.emptyOutput($0) }, into: handover)
                while let number = handover.take() {
                    if self.isCancelled() { throw CancellationError() }
                    try folder.fold(number, entries)
                }
            } catch {
                handover.fail()
                throw error
            }
        }
    }
}

/// The result of a rebuild for one projection.
public struct ProjectionReport: Sendable, Codable, Hashable {
    /// The name of the projection.
    public var name: String
    /// The version of the projection.
    public var version: Int
    /// The number of keys with a state.
    public var keys: Int
    /// The number of index rows.
    public var rows: Int
    /// The digest as 64 hexadecimal digits; equal whenever the same projection has folded the same
    /// events.
    public var digest: String
}

extension Duration {
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

/// The place of a record, either as an offset in the memory map or as its position in the log.
///
/// An offset avoids the lookup, which would be most of the work. Offsets stay valid during a
/// rebuild: compaction waits for the rebuild, so records are neither changed nor removed, and LMDB
/// rewrites only the last page.
struct EventPlace: Hashable {
    let rawValue: UInt64

    private static let positionFlag: UInt64 = 1 << 63

    init(inMap place: Int) { rawValue = UInt64(place) }
    init(position: UInt64) { rawValue = position | EventPlace.positionFlag }

    var position: UInt64? {
        rawValue & EventPlace.positionFlag == 0 ? nil : rawValue & ~EventPlace.positionFlag
    }
    var inMap: Int { Int(rawValue & ~EventPlace.positionFlag) }
}

/// A division of the keys into partitions by hash range.
///
/// Each partition takes about 60 µs in addition to the time for its entries, so small logs use few
/// partitions. With more than 256 partitions, the scan would write to more memory locations than
/// fit in the CPU cache.
struct HashPartitions {
    private static let bitsMax = 8
    /// The minimum number of bits, so that even a few entries are distributed among threads, with
    /// cancellation checks in between.
    private static let bitsMin = 4
    /// The number of entries per partition, before the number of partitions is rounded up to a
    /// power of two.
    private static let entriesEach = 1 << 14
    /// The number of hash bits that select the partition.
    let bits: Int

    /// - Parameter entries: The approximate number of entries.
    init(entries: Int) {
        let wanted = entries / HashPartitions.entriesEach
        let needed = wanted.bitWidth - wanted.leadingZeroBitCount
        bits = max(HashPartitions.bitsMin, min(HashPartitions.bitsMax, needed))
    }

    var count: Int { 1 << bits }

    /// The right shift that turns a hash into a partition number.
    var shift: UInt64 { UInt64(64 - bits) }
}

/// The entries (hash of a key, place of an event) of each partition.
///
/// The entries are stored in chunks, so adding entries never copies existing ones. Chunks beyond a
/// budget go to a file.
final class PartitionEntries: @unchecked Sendable {
    struct Entry {
        var hash: UInt64
        var place: EventPlace
    }

    /// A full chunk of entries.
    private enum Chunk {
        case inMemory(UnsafeMutablePointer<Entry>)
        case inFile(Range<Int>)
    }

    private static let chunkCountMax = 1_024
    private struct Partition {
        /// The full chunks.
        var full: [Chunk] = []
        /// The chunk being filled.
        var last: UnsafeMutablePointer<Entry>?
        /// The address of the next entry; equals `end` if the chunk is full or missing.
        var next: UnsafeMutablePointer<Entry>?
        var end: UnsafeMutablePointer<Entry>?

        func count(_ chunkCount: Int) -> Int {
            guard let last, let next else { return 0 }
            return full.count * chunkCount + (next - last)
        }

        func deallocate() {
            for case .inMemory(let chunk) in full { chunk.deallocate() }
            last?.deallocate()
        }
    }
    private let partitions: UnsafeMutableBufferPointer<Partition>
    private let shift: UInt64
    private let chunkCount: Int
    /// The number of full chunks in memory; `chunksMax` is the maximum.
    private var chunksInMemory = 0
    private let chunksMax: Int
    private let spill: SpillFile
    /// The scanned blocks, with their start index in each partition.
    private var blocks: [(number: UInt64, starts: [Int])] = []

    /// - Parameters:
    ///   - entriesMax: The maximum number of entries in memory.
    ///   - spill: The file for the remaining entries, which several objects can share.
    init(_ all: HashPartitions, entriesMax: Int, spillingTo spill: SpillFile) {
        shift = all.shift
        chunkCount = max(1, min(PartitionEntries.chunkCountMax, entriesMax / all.count))
        chunksMax = entriesMax / chunkCount
        self.spill = spill
        partitions = .allocate(capacity: all.count)
        partitions.initialize(repeating: Partition())
    }

    deinit {
        for partition in partitions { partition.deallocate() }
        partitions.deinitialize().deallocate()
    }

    @inline(__always)
    func add(hash: UInt64, _ place: EventPlace) {
        let index = Int(hash >> shift)
        if partitions[index].next == partitions[index].end { addChunk(index) }
        guard let next = partitions[index].next else { return }
        next.initialize(to: Entry(hash: hash, place: place))
        partitions[index].next = next + 1
    }

    @inline(never)
    private func addChunk(_ index: Int) {
        if let last = partitions[index].last {
            partitions[index].full.append(.inMemory(last))
            chunksInMemory += 1
        }
        let chunk = UnsafeMutablePointer<Entry>.allocate(capacity: chunkCount)
        partitions[index].last = chunk
        partitions[index].next = chunk
        partitions[index].end = chunk + chunkCount
    }

    /// Moves all full chunks to the file if too many are in memory.
    func keepBudget() throws {
        guard chunksInMemory > chunksMax else { return }
        for index in partitions.indices {
            for place in partitions[index].full.indices {
                guard case .inMemory(let chunk) = partitions[index].full[place] else { continue }
                let bytes = UnsafeRawBufferPointer(
                    UnsafeBufferPointer(start: chunk, count: chunkCount))
                partitions[index].full[place] = .inFile(try spill.append(bytes))
                chunk.deallocate()
            }
        }
        chunksInMemory = 0
    }

    /// Starts a block of the log; entries added from now on belong to it.
    func begin(block: UInt64) {
        blocks.append((block, partitions.map { $0.count(chunkCount) }))
    }

    /// Returns and releases the entries of a partition, grouped by block; nothing may be added
    /// afterwards.
    func take(_ index: Int) throws -> [(block: UInt64, entries: ArraySlice<Entry>)] {
        let partition = partitions[index]
        let count = partition.count(chunkCount)
        var all: [Entry] = []
        all.reserveCapacity(count)
        for chunk in partition.full {
            switch chunk {
            case .inMemory(let chunk):
                all += UnsafeBufferPointer(start: chunk, count: chunkCount)
            case .inFile(let range):
                all += try spill.bytes(range).assumingMemoryBound(to: Entry.self)
            }
        }
        all += UnsafeBufferPointer(start: partition.last, count: count - all.count)
        partition.deallocate()
        partitions[index] = Partition()
        return blocks.indices.map { place in
            let end = place + 1 < blocks.count ? blocks[place + 1].starts[index] : all.count
            return (blocks[place].number, all[blocks[place].starts[index]..<end])
        }
    }
}

/// Sorts the entries of one partition for folding: by hash, then in log order.
struct EntryOrder: ~Copyable {
    typealias Entry = PartitionEntries.Entry

    /// The number of bits that select a bucket; they follow the leading bits, which are equal for
    /// all keys in a partition.
    private static let bucketBits = 11
    /// The maximum number of entries to sort by insertion sort.
    private static let insertionCountMax = 32
    private var counts = [Int](repeating: 0, count: 1 << bucketBits)
    private let shift: UInt64

    init(_ partitions: HashPartitions) {
        shift = partitions.shift - UInt64(EntryOrder.bucketBits)
    }

    /// - Parameter parts: The entries of each block, in log order.
    mutating func sorted(_ parts: [(block: UInt64, entries: ArraySlice<Entry>)]) -> [Entry] {
        var all: [Entry] = []
        all.reserveCapacity(parts.reduce(0) { $0 + $1.entries.count })
        for part in parts.sorted(by: { $0.block < $1.block }) { all += part.entries }
        return all.count > 1 ? spread(all) : all
    }

    /// Distributes the entries into buckets by the bits after the common leading bits, then sorts
    /// each bucket stably.
    private mutating func spread(_ all: [Entry]) -> [Entry] {
        let mask = UInt64(1 << EntryOrder.bucketBits - 1)
        for index in counts.indices { counts[index] = 0 }
        for entry in all { counts[Int(entry.hash >> shift & mask)] += 1 }
        var start = 0
        for index in counts.indices { (counts[index], start) = (start, start + counts[index]) }
        var result = [Entry](unsafeUninitializedCapacity: all.count) { result, count in
            for entry in all {
                let bucket = Int(entry.hash >> shift & mask)
                result.initializeElement(at: counts[bucket], to: entry)
                counts[bucket] += 1
            }
            count = all.count
        }
        result.withUnsafeMutableBufferPointer { result in
            var from = 0
            for end in counts where end > from {
                EntryOrder.sort(UnsafeMutableBufferPointer(rebasing: result[from..<end]))
                from = end
            }
        }
        return result
    }

    private static func sort(_ bucket: UnsafeMutableBufferPointer<Entry>) {
        var isSorted = true
        for index in 1..<bucket.count where bucket[index].hash < bucket[index - 1].hash {
            isSorted = false
            break
        }
        if isSorted { return }
        guard bucket.count <= insertionCountMax else {
            // The standard library's sort is not guaranteed to be stable.
            let sorted = bucket.indices.sorted {
                bucket[$0].hash != bucket[$1].hash
                    ? bucket[$0].hash < bucket[$1].hash : $0 < $1
            }
            let entries = Array(bucket)
            for (place, index) in sorted.enumerated() { bucket[place] = entries[index] }
            return
        }
        for index in 1..<bucket.count {
            let entry = bucket[index]
            var place = index
            while place > 0, entry.hash < bucket[place - 1].hash {
                bucket[place] = bucket[place - 1]
                place -= 1
            }
            bucket[place] = entry
        }
    }
}
