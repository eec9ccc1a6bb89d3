internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

/// Folds the events behind a checkpoint into live tables, a batch at a time.
///
/// Events are copied out of the log, by the keys that they concern (`FoldBatch`); their keys are folded into
/// what is stored of them (`LiveFolder`), which writes nothing; then what has changed is written, table by
/// table in the order of keys, with the checkpoints.
///
/// | batch | is folded | so that |
/// |---|---|---|
/// | small | by whoever holds the writer of the views file | it is done once, whoever else follows |
/// | large | before, in parts, on all processors, as of one commit, behind which the next has to be its own | the writer is held for a short time only |
///
/// A large one that another process has overtaken is folded as a small one is: it cannot be overtaken again.
struct CatchUp {
    /// With fewer entries for each a batch is not divided: what it costs to wake a thread would be more.
    private static let entriesPerPartMin = 256
    /// Parts for each processor: none waits long for the one that has the keys with most to fold.
    private static let partsPerProcessor = 4

    let log: EventLog
    let file: ViewsFile
    let routing: Routing

    /// Folds one batch behind a checkpoint into the drivers' tables.
    ///
    /// - Parameters:
    ///   - commit: the number of a commit as of which the checkpoint is that of all drivers.
    ///   - mark: says, before anything is written, that the file is.
    /// - Returns: whether it was written; if not, somebody else has folded meanwhile.
    func run(
        _ batch: FoldBatch, from checkpoint: ProjectionCheckpoint, behind commit: Int,
        mark: (borrowing WriteTransaction) throws -> Void
    ) throws -> Bool {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let count = min(
            batch.entryCount / CatchUp.entriesPerPartMin, processors * CatchUp.partsPerProcessor)
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

    private func fold(
        _ part: Range<Int>, of batch: FoldBatch, _ views: TransactionAlias
    ) throws -> LiveChanges {
        let folder = LiveFolder(log, file, routing, batch, views)
        try batch.forEachKey(in: part) { try folder.fold($0, $1, isDirty: $2) }
        return folder.changes
    }

    /// Folds parts at once; nil where the file is not as of the commit any more.
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

    /// What becomes of a projection's rows; unlike its other tables, they are in another order than keys.
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
