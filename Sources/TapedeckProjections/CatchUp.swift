internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// Folds the events after a checkpoint into live tables, one batch at a time.
///
/// `FoldBatch` copies events from the log and groups them by key. `LiveFolder` folds the events
/// into the stored state of each key without writing. The changes and the checkpoints are then
/// written, table by table in key order.
///
/// - A small batch is folded inside the write transaction of the views file, so other processes
///   wait instead of folding the same events.
/// - A large batch is folded before the write, in parallel parts that read the same commit, so the
///   write transaction stays short. The changes are written only if there was no other commit in
///   between.
///
/// If another process commits during a large fold, the batch is folded again inside the write
/// transaction, so that no other process can interfere.
struct CatchUp {
    /// The minimum number of entries per part; for fewer entries, waking a thread would cost more
    /// than it saves.
    private static let entriesPerPartMin = 256
    /// The number of parts per processor; small parts keep an expensive key from delaying other
    /// keys.
    private static let partsPerProcessor = 4

    let log: EventLog
    let file: ViewsFile
    let routing: Routing

    /// Folds a batch of events after a checkpoint into the drivers' tables.
    ///
    /// - Parameters:
    ///   - commit: The number of a commit at which all drivers are at `checkpoint`.
    ///   - mark: Called before anything is written, to record that the file is being written to.
    /// - Returns: Whether the batch was written; false if another process has folded events in the
    ///   meantime.
    func run(
        _ batch: FoldBatch, from checkpoint: ProjectionCheckpoint, behind commit: Int,
        mark: (borrowing WriteTransaction) throws -> Void
    ) throws -> Bool {
        let count = CatchUp.partCount(of: batch)
        if count > 1, let parts = try fold(batch.parts(count), of: batch, asOf: commit) {
            let rows = try Threads.perform(routing.drivers.count) {
                CatchUp.rows(of: $0, in: parts)
            }
            let isWritten = try file.environment.write { views in
                guard views.number == commit + 1 else { return false }
                try mark(views)
                try write(parts, rows, of: batch, views)
                return true
            }
            if isWritten { return true }
        }
        return try file.environment.write { views in
            guard try file.isAt(checkpoint, routing.drivers, views) else { return false }
            try mark(views)
            let parts = try batch.parts(1).map { try fold($0, of: batch, views.alias) }
            let rows = routing.drivers.indices.map { CatchUp.rows(of: $0, in: parts) }
            try write(parts, rows, of: batch, views)
            return true
        }
    }

    private static func partCount(of batch: FoldBatch) -> Int {
        let largest = batch.entryCount / entriesPerPartMin
        // Foundation counts the processors by reading files, which takes longer than most small
        // batches.
        guard largest > 1 else { return 1 }
        return min(largest, ProcessInfo.processInfo.activeProcessorCount * partsPerProcessor)
    }

    private func fold(
        _ part: Range<Int>, of batch: FoldBatch, _ views: TransactionAlias
    ) throws -> LiveChanges {
        let folder = LiveFolder(log, file, routing, batch, views)
        try batch.forEachKey(in: part) { try folder.fold($0, $1, isDirty: $2) }
        return folder.changes
    }

    /// Folds parts in parallel; returns nil if the file has changed since the commit.
    private func fold(
        _ parts: [Range<Int>], of batch: FoldBatch, asOf commit: Int
    ) throws -> [LiveChanges]? {
        let folded = try Threads.perform(parts.count) { index in
            try self.file.environment.read { views -> LiveChanges? in
                guard views.number == commit else { return nil }
                return try self.fold(parts[index], of: batch, views.alias)
            }
        }
        let known = folded.compactMap { $0 }
        return known.count == folded.count ? known : nil
    }

    /// Returns the changed rows of a projection in sorted order.
    ///
    /// Rows have to be sorted here because, unlike the changes to other tables, rows do not arrive
    /// in key order.
    private static func rows(of driver: Int, in parts: [LiveChanges]) -> TableChanges? {
        let found = parts.compactMap { $0.projections[driver]?.rows }.filter { !$0.isEmpty }
        guard let all = found.first else { return nil }
        for rows in found.dropFirst() { all.add(contentsOf: rows) }
        all.sort()
        return all
    }

    private func write(
        _ parts: [LiveChanges], _ rows: [TableChanges?], of batch: FoldBatch,
        _ views: borrowing WriteTransaction
    ) throws {
        let checkpoint = batch.reached.encoded(batch.history)
        for (index, driver) in routing.drivers.enumerated() {
            try views.put(file.meta, ProjectionCheckpoint.key(driver.fingerprint), checkpoint)
            guard let tables = file.tables[driver.fingerprint] else { continue }
            let changes = parts.compactMap { $0.projections[index] }
            for part in changes { try part.states.write(to: tables.states, views) }
            for part in changes { try part.items.write(to: tables.items, views) }
            for part in changes { try part.extra.write(to: tables.extra, views) }
            try rows[index]?.write(to: tables.rows, views)
        }
        var diffs = DiffBatch()
        for part in parts { diffs.add(contentsOf: part.diffs) }
        try DiffRing(file).append(diffs, views)
    }
}
