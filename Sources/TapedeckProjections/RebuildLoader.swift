internal import Foundation
internal import Synchronization
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// Writes the results of the folding threads to a new views file, on one thread.
final class RebuildLoader: @unchecked Sendable {
    private let file: ViewsFile
    private let drivers: [ProjectionDriver]
    private let bytesPerCommitMax: Int
    /// The digests of the projections; nil if no reports are wanted.
    private var digests: [ViewsDigest]?
    private var keys: [Int]
    private var rows: [Int]
    private let runs: [RowRuns]
    private(set) var frozen: [FrozenKey] = []
    private var frozenRows: [(driver: Int, key: [UInt8], value: [UInt8])] = []
    /// Outputs that have been written, to be used again.
    private let written = Mutex<[PartitionOutput]>([])

    init(
        _ file: ViewsFile, _ drivers: [ProjectionDriver], _ budgets: Rebuild.Budgets, reports: Bool
    ) {
        bytesPerCommitMax = budgets.bytesPerCommitMax
        self.file = file
        self.drivers = drivers
        digests = reports ? drivers.map { ViewsDigest($0) } : nil
        keys = drivers.map { _ in 0 }
        rows = drivers.map { _ in 0 }
        runs = drivers.indices.map {
            RowRuns(
                spillingTo: file.environment.path + ".run\($0)",
                memoryCountMax: budgets.rowBytesMax / drivers.count)
        }
    }

    /// The number of bytes of rows in files.
    var spilledCount: Int { runs.reduce(0) { $0 + $1.spilledCount } }

    private func tables(_ index: Int) throws -> ViewsFile.Tables {
        guard let tables = file.tables[drivers[index].fingerprint] else {
            throw ProjectionError(
                .internalError, "the views file has no tables for \(drivers[index].name)")
        }
        return tables
    }

    /// Returns an empty output for a partition; any thread may call this method.
    func emptyOutput(_ number: Int) -> PartitionOutput {
        guard var output = written.withLock({ $0.popLast() }) else {
            return PartitionOutput(number, drivers: drivers.count)
        }
        output.number = number
        return output
    }

    /// Empties outputs that have been written, and keeps a few of them.
    private func keep(_ outputs: ArraySlice<PartitionOutput>) {
        for output in outputs { output.removeAll() }
        written.withLock { $0 += outputs.prefix(RebuildLoader.outputsKept - $0.count) }
    }

    /// The maximum number of written outputs whose memory is kept; usually, no more are in use.
    private static let outputsKept = 4

    func load(_ outputs: [PartitionOutput]) throws {
        var start = 0
        while start < outputs.count {
            var end = start
            var bytes = 0
            while end < outputs.count, end == start || bytes < bytesPerCommitMax {
                for part in outputs[end].parts {
                    bytes += part.states.bytes.count + part.items.bytes.count
                }
                end += 1
            }
            try write(outputs[start..<end])
            keep(outputs[start..<end])
            start = end
        }
    }

    private func write(_ outputs: ArraySlice<PartitionOutput>) throws {
        for index in drivers.indices {
            let tables = try tables(index)
            let parts = outputs.map { $0.parts[index] }
            guard parts.contains(where: { !$0.isEmpty }) else { continue }
            try file.environment.write { transaction in
                for (table, batches) in [
                    (tables.states, parts.map(\.states)), (tables.items, parts.map(\.items)),
                    (tables.extra, parts.map(\.checkpoints)),
                ] {
                    let cursor = try transaction.cursor(table)
                    for batch in batches { try RebuildLoader.append(batch, cursor) }
                }
            }
            // Hash and count the rows outside the transaction, because the transaction may run
            // twice if the map must grow.
            for part in parts {
                try digests?[index].add(.states, part.states)
                try digests?[index].add(.items, part.items)
                keys[index] += part.states.count
                rows[index] += part.rows.count
                try runs[index].add(part.rows)
                for (key, info) in part.frozen {
                    frozen.append(info)
                    frozenRows.append((index, Array("z".utf8) + key, info.encoded()))
                }
            }
        }
    }

    private static func append(_ batch: RowBatch, _ cursor: borrowing Cursor) throws {
        var walker = RowWalker(batch.bytes)
        while let (key, value) = walker.next() { try cursor.put(key, value, isLast: true) }
    }

    /// Merges the index rows and writes the checkpoints; returns a report of each projection, if
    /// reports are wanted.
    func finish(
        _ checkpoint: ProjectionCheckpoint, _ history: HistoryMark
    ) throws -> [ProjectionReport] {
        written.withLock { $0 = [] }
        for index in drivers.indices { try loadRows(index) }
        try file.environment.write { transaction in
            for (index, key, value) in frozenRows {
                try transaction.put(try tables(index).extra, key, value)
            }
            for driver in drivers {
                try transaction.put(
                    file.meta, ProjectionCheckpoint.key(driver.fingerprint),
                    checkpoint.encoded(history))
            }
        }
        guard var digests else { return [] }
        return drivers.indices.map { index in
            ProjectionReport(
                name: drivers[index].name, version: drivers[index].version, keys: keys[index],
                rows: rows[index], digest: digests[index].finish())
        }
    }

    /// Merges the runs of index rows on one thread; writes and hashes the result on another.
    private func loadRows(_ index: Int) throws {
        let table = try tables(index).rows
        let handover = OrderedHandover<RowBatch>(0..<Int.max, window: RebuildLoader.batchesMax)
        try Threads.run(2) { thread in
            do {
                if thread == 0 {
                    try self.mergeRows(index, into: handover)
                } else {
                    try self.appendRows(index, from: handover, to: table)
                }
            } catch {
                handover.fail()
                throw error
            }
        }
    }

    /// The maximum number of merged batches that wait to be written; `bytesPerBatch` is the size of
    /// a batch.
    private static let batchesMax = 4
    private static let bytesPerBatch = 4 << 20

    /// Merges the rows and hands them over in batches, followed by an empty batch.
    private func mergeRows(_ index: Int, into handover: OrderedHandover<RowBatch>) throws {
        struct Stopped: Error {}
        func hand(_ batch: RowBatch) throws {
            // `take` returns nil if the other thread has failed; that thread reports its own error.
            guard let number = handover.take() else { throw Stopped() }
            handover.put(number, batch)
        }
        let bytesMax = min(RebuildLoader.bytesPerBatch, bytesPerCommitMax)
        do {
            var pending = RowBatch()
            try runs[index].merge { key, value in
                pending.add(key, value: value)
                if pending.bytes.count >= bytesMax {
                    try hand(pending)
                    pending = RowBatch(capacity: bytesMax)
                }
            }
            if pending.count > 0 { try hand(pending) }
            try hand(RowBatch())
        } catch is Stopped {}
    }

    private func appendRows(
        _ index: Int, from handover: OrderedHandover<RowBatch>, to table: Table
    ) throws {
        while let batches = handover.collect() {
            try file.environment.write { transaction in
                let cursor = try transaction.cursor(table)
                for batch in batches { try RebuildLoader.append(batch, cursor) }
            }
            // Hash the rows outside the transaction, because the transaction may run twice if the
            // map must grow.
            for batch in batches { try digests?[index].add(.rows, batch) }
            if batches.last?.count == 0 { return }
        }
    }
}

extension FrozenKey {
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for text in [projection, key, event, reason] { bytes.appendPrefixed(text) }
        bytes.appendVarint(position)
        return bytes
    }

    init?(decoding bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let projection = reader.prefixedString(), let key = reader.prefixedString(),
            let event = reader.prefixedString(), let reason = reader.prefixedString(),
            let position = reader.varint()
        else { return nil }
        self.init(
            projection: projection, key: key, event: event, position: position, reason: reason)
    }
}
