internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Returns the current end of the log, up to which a reader must see all events.
    func due() throws -> ProjectionCheckpoint {
        try log.read {
            let end = try self.log.end($0)
            return ProjectionCheckpoint(
                position: end.position, overrides: end.change, checksum: end.checksum)
        }
    }

    /// Returns whether a reader that requires all events up to `due` can use tables at a
    /// checkpoint.
    ///
    /// If the checkpoint is after `due`, events have been appended since, or the log was restored
    /// to an earlier state. Reading the end of the log again shows which of the two has happened.
    func serves(_ checkpoint: ProjectionCheckpoint?, _ due: ProjectionCheckpoint) throws -> Bool {
        guard let checkpoint, checkpoint.hasReached(due) else { return false }
        return try due.hasReached(checkpoint) || self.due().hasReached(checkpoint)
    }

    /// Returns the checkpoint that a reader still requires after waiting for `due`.
    ///
    /// The returned checkpoint is earlier than `due` only if the log was restored to an earlier
    /// state, because the log may then never reach `due`.
    func stillDue(_ due: ProjectionCheckpoint) throws -> ProjectionCheckpoint {
        let now = try self.due()
        return now.hasReached(due) ? due : now
    }

    /// Folds batches until the drivers have reached `due`.
    func advanceFully(
        _ file: ViewsFile, _ drivers: [ProjectionDriver], to due: ProjectionCheckpoint
    ) throws {
        var due = due
        while try !advance(file, drivers, to: due) { due = try stillDue(due) }
    }

    /// Folds all events that are currently in the log.
    ///
    /// - Parameter options: The options for projections that must be rebuilt.
    func catchUp(
        _ wanted: [ProjectionDriver], _ options: RebuildOptions = RebuildOptions()
    ) throws {
        var due = try due()
        var repairs = 0
        again: while true {
            try openFiles(wanted, options)
            folding.lock()
            defer { folding.unlock() }
            // `serving` returns nil if a file was dropped in the meantime.
            guard let groups = try serving(wanted) else { continue }
            do {
                for (file, drivers) in groups {
                    while try !advance(file, drivers, to: due) {
                        // Start over if the runner has switched, or is about to switch, to another
                        // file, because that file has folded more events.
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
                    hint: "storectl replay rebuilds projections", cause: damage.cause)
            }
        }
    }

    private func isServing(_ file: ViewsFile, _ drivers: [ProjectionDriver]) -> Bool {
        files.withLock { files in drivers.allSatisfy { files[$0.fingerprint] === file } }
    }

    /// Folds one batch for each distinct checkpoint of the drivers; returns true if all drivers
    /// have reached `due`.
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
        // The routing is created after the checkpoint has been read, and is used only for events up
        // to `due`, so the routing knows the types and origins of all events in the batch.
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

    /// Records in the log, before the first write to a file after a boot, that the file is not
    /// synced to disk.
    ///
    /// The record covers all projections in the file, including projections unknown to this
    /// program.
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

    // MARK: - Cached log state

    /// Clears all cached log state after the log file was found to have a different history.
    func forgetHistory() throws {
        try log.forgetHistory()
        routing.withLock { $0 = [:] }
        overrides.withLock { $0 = nil }
    }

    private func currentOverrides(
        _ records: borrowing ReadTransaction
    ) throws -> OverrideTable {
        // The table is taken out of the mutex during the update, which avoids a copy.
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
    /// Reads the log without converting the errors that `body` throws.
    ///
    /// An error, such as a full map, may come from a views file instead of the log. An error from a
    /// views file must remain recognizable.
    func readNaming<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        try read { records in
            do { return Result<R, any Error>.success(try body(records)) } catch {
                return .failure(error)
            }
        }.get()
    }
}

/// A views file with damaged contents, which must be rebuilt.
struct ViewsDamage: Error {
    let file: ViewsFile
    let cause: any Error
}

/// The log no longer contains the events that a views file has folded, because the log was restored
/// to an earlier state.
struct ReplacedLog: Error {
    let file: ViewsFile
}

/// A row of a views file that cannot be decoded.
struct StoredRowError: Error {
    let cause: any Error
}
