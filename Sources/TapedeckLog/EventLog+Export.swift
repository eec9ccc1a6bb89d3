internal import Crypto
internal import Foundation
internal import TapedeckLMDB
@_spi(Core) internal import TapedeckModel

/// The contents of an export.
public struct ExportSummary: Codable, Hashable, Sendable {
    /// The number of events.
    public var events: UInt64
    /// The number of receipts.
    public var receipts: UInt64
    /// The number of origins.
    public var origins: UInt64
    /// The size of the file, in bytes.
    public var bytes: UInt64
    /// The SHA-256 digest of everything in the file before its trailer, in hexadecimal.
    public var digest: String
}

extension EventLog {
    /// Writes every event, with hash chains and receipts, to a file.
    ///
    /// The file appears under its name only when it is complete and on disk, and it replaces an
    /// existing file. Events recorded during the export are not included. Exports of an unchanged
    /// store are identical.
    ///
    /// Throws `LogError`: `.damaged` (with the position of a damaged event), `.diskFull`,
    /// `.accessDenied`, `.notFound` (no such directory), `.usage` (a path inside the store).
    @available(*, noasync)
    @discardableResult
    public func export(
        to path: String, progress: LogProgress.Report? = nil
    ) throws(LogError) -> ExportSummary {
        try directory.checkIsOutside(path)
        settleBuffered()
        let head = try currentHead().rawValue
        if let summary = try exportInSteps(through: head, to: path, progress) { return summary }
        // A long transaction makes a file that is being written grow, so it is only the last resort.
        var writer = try exportWriter(path)
        try readRefreshed { transaction in
            var position: UInt64 = 0
            while position < head {
                position = try self.exportBlock(
                    &writer, transaction, after: position, through: head)
                progress?(LogProgress(phase: .writing, done: position, total: head))
            }
        }
        return try writer.end()
    }

    /// Exports each block in its own transaction; returns nil if the store was compacted meanwhile.
    private func exportInSteps(
        through head: UInt64, to path: String, _ progress: LogProgress.Report?
    ) throws(LogError) -> ExportSummary? {
        let round = try compactionRound()
        var writer = try exportWriter(path)
        var position: UInt64 = 0
        while position < head {
            let from = position
            do throws(LogError) {
                position = try readRefreshed {
                    try self.exportBlock(&writer, $0, after: from, through: head)
                }
            } catch {
                // A range stub can contain events of two blocks.
                if error.code == .damaged, try compactionRound() != round { return nil }
                throw error
            }
            progress?(LogProgress(phase: .writing, done: position, total: head))
        }
        return try compactionRound() == round ? writer.end() : nil
    }

    private func exportWriter(_ path: String) throws(LogError) -> ExportWriter {
        var writer = ExportWriter(try ReplacedFile(replacing: path))
        try writer.begin(store: storeID, version: UInt32(try storageFormat()))
        return writer
    }

    /// Writes one block, and returns the last position read.
    private func exportBlock(
        _ writer: inout ExportWriter, _ transaction: borrowing ReadTransaction, after: UInt64,
        through head: UInt64
    ) throws -> UInt64 {
        writer.learn(names)
        let position = try fill(&writer, transaction, after: after, through: head)
        guard position > after else { throw LogError.damagedRecord(after + 1, "it is missing") }
        try writer.flush()
        return position
    }

    /// Reads one block into `writer`, and returns the last position read.
    private func fill(
        _ writer: inout ExportWriter, _ transaction: borrowing ReadTransaction, after: UInt64,
        through: UInt64
    ) throws -> UInt64 {
        let cursor = try transaction.cursor(tables.events)
        var position = after
        var entry = try cursor.seek(integer: after + 1)
        while let found = entry, position < through, !writer.isFull {
            let key = found.key.loadUnaligned(as: UInt64.self)
            let record = try record(found.value, at: key)
            guard key == position + 1 || record.firstPosition == position + 1 else { break }
            position = key
            if !isForked(record) { try writer.add(record) }
            entry = try cursor.next()
        }
        for (ordinal, sequences) in writer.stretches.sorted(by: { $0.key < $1.key }) {
            try addReceipts(to: &writer, ordinal, sequences, transaction)
        }
        return position
    }

    func isForked(_ record: RecordView) -> Bool { state.withLock { $0.isForked(record) } }

    private func addReceipts(
        to writer: inout ExportWriter, _ ordinal: UInt32, _ sequences: ClosedRange<UInt64>,
        _ transaction: borrowing ReadTransaction
    ) throws {
        var found: [Receipt] = []
        try ReceiptReader.forEach(
            of: writer.origins[Int(ordinal)], ordinal: ordinal, sequences, transaction, tables
        ) { _, receipt in
            found.append(receipt)
            return true
        }
        for receipt in found { writer.add(receipt) }
    }
}

/// Collects events into blocks and writes them.
private struct ExportWriter: ~Copyable {
    private(set) var origins: [OriginID] = []
    private var types: [[UInt8]] = []
    private var file: ReplacedFile
    private var sha = SHA256()
    private var byteCount: UInt64 = 0
    private var blockCount: UInt64 = 0
    private var receiptCount: UInt64 = 0
    private var eventCount: UInt64 = 0
    /// The sequence number of the last event of each origin.
    private var lastSequences: [UInt32: UInt64] = [:]

    // The current block.
    /// The sequence numbers of each origin in the block, which are contiguous because the log keeps
    /// them in order.
    private(set) var stretches: [UInt32: ClosedRange<UInt64>] = [:]
    private var marks: [UInt32: ChainMark] = [:]
    private var receipts: [UInt8] = []
    private var blockReceipts: UInt32 = 0
    private var events: [UInt8] = []
    private var blockEvents: UInt32 = 0
    private var body: [UInt8] = []

    init(_ file: consuming ReplacedFile) { self.file = file }

    /// Takes the names of the records that are added next; between two blocks, a compaction can
    /// record a new type.
    mutating func learn(_ names: (origins: [OriginID], types: [EventType])) {
        origins = names.origins
        guard names.types.count != types.count else { return }
        types = names.types.map { Array($0.name.utf8) }
    }

    var isFull: Bool {
        blockEvents >= ExportFormat.eventsPerBlockMax
            || events.count >= ExportFormat.bytesPerBlockMax
    }

    mutating func begin(store: OriginID, version: UInt32) throws(LogError) {
        try write(ExportFormat.header(store: store, version: version))
    }

    mutating func add(_ record: RecordView) throws(LogError) {
        guard Int(record.origin) < origins.count, Int(record.type) < types.count else {
            throw LogError.damagedRecord(record.position, "its origin or type is unknown")
        }
        let origin = origins[Int(record.origin)]
        // An import refuses a file with a gap.
        let last = lastSequences[record.origin] ?? 0
        guard record.firstSequence == last + 1 else {
            throw LogError.damagedRecord(
                record.position,
                "event \(record.firstSequence) of its origin follows event \(last)")
        }
        lastSequences[record.origin] = record.sequence
        let start = events.count
        events.appendLittleEndian(UInt32(0))
        guard events.appendCanonical(record, origin: origin, type: types[Int(record.type)]) else {
            throw LogError.damagedRecord(record.position, "its contents do not match its header")
        }
        let count = UInt32(events.count - start - 4)
        events.withUnsafeMutableBytes {
            $0.storeBytes(of: count.littleEndian, toByteOffset: start, as: UInt32.self)
        }
        blockEvents += 1
        let first = stretches[record.origin]?.lowerBound ?? record.firstSequence
        stretches[record.origin] = first...record.sequence
        if record.flags.contains(.chain), let chain = record.blocks.flatMap({ HashChain($0.chain) })
        {
            marks[record.origin] = ChainMark(
                event: EventID(origin: origin, sequence: record.sequence), chain: chain)
        }
    }

    mutating func add(_ receipt: Receipt) {
        receipts.append(receipt)
        blockReceipts += 1
    }

    /// Writes the block and starts a new one.
    mutating func flush() throws(LogError) {
        guard blockEvents > 0 else { return }
        body.removeAll(keepingCapacity: true)
        body.append(ExportFormat.blockKind)
        body.appendLittleEndian(UInt32(marks.count))
        body.appendLittleEndian(blockReceipts)
        body.appendLittleEndian(blockEvents)
        for (_, mark) in marks.sorted(by: { $0.key < $1.key }) { mark.append(to: &body) }
        body.append(contentsOf: receipts)
        body.append(contentsOf: events)
        try write(ExportFormat.frame(body))
        try write(body)
        blockCount += 1
        eventCount += UInt64(blockEvents)
        receiptCount += UInt64(blockReceipts)
        stretches.removeAll(keepingCapacity: true)
        marks.removeAll(keepingCapacity: true)
        receipts.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        blockEvents = 0
        blockReceipts = 0
    }

    /// Writes the trailer and moves the file into place.
    consuming func end() throws(LogError) -> ExportSummary {
        let digest = Array(sha.finalize())
        var trailer = [ExportFormat.trailerKind]
        for count in [blockCount, eventCount, receiptCount, UInt64(lastSequences.count)] {
            trailer.appendLittleEndian(count)
        }
        trailer.append(contentsOf: digest)
        try write(ExportFormat.frame(trailer))
        try write(trailer)
        try file.place()
        return ExportSummary(
            events: eventCount, receipts: receiptCount, origins: UInt64(lastSequences.count),
            bytes: byteCount, digest: digest.hex)
    }

    private mutating func write(_ bytes: [UInt8]) throws(LogError) {
        byteCount += UInt64(bytes.count)
        bytes.withUnsafeBytes { sha.update(bufferPointer: $0) }
        try file.write(bytes)
    }
}
