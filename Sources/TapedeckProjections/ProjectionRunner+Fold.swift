internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// How far the log goes now: what has to be folded for a reader who asks now.
    func due() throws -> ProjectionCheckpoint {
        try log.read {
            let end = try self.log.end($0)
            return ProjectionCheckpoint(
                position: end.position, overrides: end.change, checksum: end.checksum)
        }
    }

    /// Whether a reader to whom `due` is due may see what a checkpoint stands for.
    ///
    /// What is beyond `due` was appended since; or the log was put back to an earlier state, which asking
    /// it again tells.
    func serves(_ checkpoint: ProjectionCheckpoint?, _ due: ProjectionCheckpoint) throws -> Bool {
        guard let checkpoint, checkpoint.hasReached(due) else { return false }
        return try due.hasReached(checkpoint) || self.due().hasReached(checkpoint)
    }

    /// What is due to a reader who has waited; less than before only where the log was put back to an
    /// earlier state, which never comes to what was due before.
    func stillDue(_ due: ProjectionCheckpoint) throws -> ProjectionCheckpoint {
        let now = try self.due()
        return now.hasReached(due) ? due : now
    }

    /// Folds, a batch after another, until the drivers have reached what is due.
    func advanceFully(
        _ file: ViewsFile, _ drivers: [ProjectionDriver], to due: ProjectionCheckpoint
    ) throws {
        var due = due
        while try !advance(file, drivers, to: due) { due = try stillDue(due) }
    }

    /// Folds everything that is in the log now.
    ///
    /// - Parameter options: of what has to be rebuilt for it.
    func catchUp(
        _ wanted: [ProjectionDriver], _ options: RebuildOptions = RebuildOptions()
    ) throws {
        var due = try due()
        var repairs = 0
        again: while true {
            try openFiles(wanted, options)
            folding.lock()
            defer { folding.unlock() }
            // Nil where a file was let go of in between.
            guard let groups = try serving(wanted) else { continue }
            do {
                for (file, drivers) in groups {
                    while try !advance(file, drivers, to: due) {
                        // One that was flipped to meanwhile has come further, or will have.
                        guard isServing(file, drivers), !isRebuilding(drivers) else {
                            continue again
                        }
                        due = try stillDue(due)
                    }
                }
                return
            } catch let replaced as ReplacedLog where repairs == 0 {
                repairs += 1
                try forgetHistory()
                try forget(replaced.file, wanted)
            } catch let damage as ViewsDamage where repairs == 0 {
                repairs += 1
                try forget(damage.file, wanted)
            } catch let damage as ViewsDamage {
                throw ProjectionError(
                    .damaged, "the projections in \(damage.file.environment.path) are damaged",
                    hint: "storectl replay makes projections anew", cause: damage.cause)
            }
        }
    }

    private func isServing(_ file: ViewsFile, _ drivers: [ProjectionDriver]) -> Bool {
        files.withLock { files in drivers.allSatisfy { files[$0.fingerprint] === file } }
    }

    /// Folds one batch for each checkpoint among the drivers; true when all have reached `due`.
    func advance(
        _ file: ViewsFile, _ drivers: [ProjectionDriver], to due: ProjectionCheckpoint
    ) throws -> Bool {
        let checkpoints = try file.environment.read { transaction in
            try drivers.map { try file.checkpoint($0.fingerprint, transaction) ?? .start }
        }
        var isDone = true
        for (checkpoint, group) in Dictionary(grouping: zip(drivers, checkpoints), by: \.1)
        where !checkpoint.hasReached(due) {
            do {
                let reached = try advance(file, group.map(\.0), from: checkpoint, to: due)
                if !reached.hasReached(due) { isDone = false }
            } catch let error as LMDBError
                where error.kind == .damaged && error.path == file.environment.path
            {
                throw ViewsDamage(file: file, cause: error)
            } catch let error as StoredRowError {
                throw ViewsDamage(file: file, cause: error.cause)
            }
        }
        return isDone
    }

    private func advance(
        _ file: ViewsFile, _ drivers: [ProjectionDriver], from checkpoint: ProjectionCheckpoint,
        to due: ProjectionCheckpoint
    ) throws -> ProjectionCheckpoint {
        let (commit, isCurrent) = try file.environment.read { views in
            (views.number, try file.isAt(checkpoint, drivers, views))
        }
        guard isCurrent else { return checkpoint }
        // Asked after the checkpoint was read and for nothing behind `due`: it knows every type and
        // origin of the events that the batch may meet.
        let routing = try currentRouting(drivers)
        let batch = try log.readNaming { records in
            let admission = EventAdmission(
                try self.currentOverrides(records), origins: routing.origins)
            return try FoldBatch(
                self.log, file, from: checkpoint, through: due.position, routing, admission,
                records)
        }
        let isWritten = try CatchUp(log: log, file: file, routing: routing)
            .run(batch, from: checkpoint, behind: commit) { try self.markUnsynced(file, $0) }
        return isWritten ? batch.reached : checkpoint
    }

    /// Says in the log, before the first write to a file in a boot, that it is not on disk.
    ///
    /// It is one file, so that concerns every projection that it serves, known to this program or not.
    private func markUnsynced(
        _ file: ViewsFile, _ views: borrowing WriteTransaction
    ) throws {
        let entry = ViewsEntry(number: file.number, boot: StoreDirectory.bootID)
        let others = try file.checkpoints(views).keys.filter {
            let found = try self.log.viewsEntry($0)
            return found?.number == file.number && found != entry
        }
        if !others.isEmpty { try log.setViews(entry, for: others) }
    }

    // MARK: - What a batch knows of the log

    /// Forgets what is in memory of a log whose file turned out to hold another history.
    func forgetHistory() throws {
        try log.forgetHistory()
        routing.withLock { $0 = [:] }
        overrides.withLock { $0 = nil }
    }

    private func currentOverrides(
        _ records: borrowing ReadTransaction
    ) throws -> OverrideTable {
        // Taken out while it is changed, so that it is not copied.
        var table =
            overrides.withLock { held in
                defer { held = nil }
                return held
            } ?? OverrideTable()
        try table.update(log, records)
        overrides.withLock { $0 = table }
        return table
    }

    private func currentRouting(_ drivers: [ProjectionDriver]) throws -> Routing {
        let (origins, types) = try log.dictionaries()
        let names = drivers.map(\.fingerprint)
        if let held = routing.withLock({ $0[names] }), held.types == types.count,
            held.origins == origins.count
        {
            return held.routing
        }
        let fresh = try Routing(drivers, log)
        routing.withLock { $0[names] = (types.count, origins.count, fresh) }
        return fresh
    }
}

extension EventLog {
    /// A read whose errors keep their own names: those of a views file may be among them, and its full map has
    /// to be known as such.
    func readNaming<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        try read { records in
            do { return Result<R, any Error>.success(try body(records)) } catch {
                return .failure(error)
            }
        }.get()
    }
}

/// A views file whose bytes are not what was written there; it is made anew.
struct ViewsDamage: Error {
    let file: ViewsFile
    let cause: any Error
}

/// The log does not hold what a views file has folded: it was put back to an earlier state meanwhile.
struct ReplacedLog: Error {
    let file: ViewsFile
}

/// A row of a views file that cannot be read back.
struct StoredRowError: Error {
    let cause: any Error
}
