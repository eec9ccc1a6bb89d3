internal import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// Writes what the folders hand over into a fresh views file; one thread.
final class RebuildLoader: @unchecked Sendable {
    private let file: ViewsFile
    private let drivers: [ProjectionDriver]
    private let bytesPerCommitMax: Int
    private var digests: [ViewsDigest]
    private var keys: [Int]
    private var rows: [Int]
    private let runs: [RowRuns]
    private(set) var frozen: [FrozenKey] = []
    private var frozenRows: [(driver: Int, key: [UInt8], value: [UInt8])] = []

    init(_ file: ViewsFile, _ drivers: [ProjectionDriver], _ budgets: Rebuild.Budgets) {
        bytesPerCommitMax = budgets.bytesPerCommitMax
        self.file = file
        self.drivers = drivers
        digests = drivers.map { ViewsDigest($0.fingerprint) }
        keys = drivers.map { _ in 0 }
        rows = drivers.map { _ in 0 }
        runs = drivers.indices.map {
            RowRuns(
                spillingTo: file.environment.path + ".run\($0)",
                memoryCountMax: budgets.rowBytesMax)
        }
    }

    private func tables(_ index: Int) throws -> ViewsFile.Tables {
        guard let tables = file.tables[drivers[index].fingerprint] else {
            throw ProjectionError(.internalError, "the views file lacks \(drivers[index].name)")
        }
        return tables
    }

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
            start = end
        }
    }

    private func write(_ outputs: ArraySlice<PartitionOutput>) throws {
        for index in drivers.indices {
            let tables = try tables(index)
            let parts = outputs.map { $0.parts[index] }
            guard parts.contains(where: { $0.states.count > 0 }) else { continue }
            try file.environment.write { transaction in
                for (table, batches) in [
                    (tables.states, parts.map(\.states)), (tables.items, parts.map(\.items)),
                    (tables.extra, parts.map(\.checkpoints)),
                ] {
                    let cursor = try transaction.cursor(table)
                    for batch in batches { try RebuildLoader.append(batch, cursor) }
                }
            }
            // Outside of the transaction, which may run twice when the map has to grow.
            for part in parts {
                digests[index].add(.states, part.states)
                digests[index].add(.items, part.items)
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

    /// Merges the index rows, writes the checkpoints, and says what came out.
    func finish(_ checkpoint: ProjectionCheckpoint) throws -> [ProjectionReport] {
        for index in drivers.indices { try loadRows(index) }
        try file.environment.write { transaction in
            for (index, key, value) in frozenRows {
                try transaction.put(try tables(index).extra, key, value)
            }
            for driver in drivers {
                try transaction.put(
                    file.meta, ProjectionCheckpoint.key(driver.fingerprint), checkpoint.encoded())
            }
        }
        return drivers.indices.map { index in
            ProjectionReport(
                name: drivers[index].name, version: drivers[index].version, keys: keys[index],
                rows: rows[index], digest: digests[index].finish())
        }
    }

    private func loadRows(_ index: Int) throws {
        let table = try tables(index).rows
        let pending = RowBatch()
        func flush() throws {
            guard pending.count > 0 else { return }
            try file.environment.write { transaction in
                try RebuildLoader.append(pending, transaction.cursor(table))
            }
            digests[index].add(.rows, pending)
            pending.removeAll()
        }
        try runs[index].merge { key, value in
            pending.add(key, value: value)
            if pending.bytes.count >= bytesPerCommitMax { try flush() }
        }
        try flush()
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
