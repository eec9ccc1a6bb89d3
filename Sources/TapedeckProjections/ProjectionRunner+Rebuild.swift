internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// A point in the history of a store.
public enum HistoryPoint: Hashable, Sendable {
    /// The state of the log when the event at the given position was its last event.
    case position(LogPosition)
    /// The state at a time, in milliseconds since 1970, determined with the events and receipts
    /// that are in the log today.
    case time(milliseconds: UInt64)

    /// Returns the limit for a rebuild from the given log.
    ///
    /// - Throws: `ProjectionError` with `.usage` if the log has not reached the position.
    func limit(in log: EventLog) throws -> Rebuild.Limit {
        switch self {
        case .position(let position):
            let head = try log.currentHead()
            guard position <= head else {
                throw ProjectionError(
                    .usage,
                    "there is no position \(position) yet: the log ends at position \(head)",
                    hint: "use an earlier position, or a time")
            }
            return .position(position)
        case .time(let time):
            return .time(Stamp(milliseconds: min(time, Stamp.millisecondsMax), counter: .max))
        }
    }
}

/// Options for a rebuild.
public struct RebuildOptions: Sendable {
    /// The number of threads that read and fold; nil for one per core.
    public var workers: Int?
    /// The closure that receives the progress.
    ///
    /// The closure is called often, from several threads, and must not wait for a projection that
    /// is being built.
    public var progress: @Sendable (RebuildProgress) -> Void
    /// The closure that returns whether to cancel the rebuild.
    ///
    /// The closure is called often. If it returns true, the rebuild throws a `CancellationError`
    /// and leaves everything unchanged.
    public var isCancelled: @Sendable () -> Bool

    /// Creates options.
    public init(
        workers: Int? = nil, progress: @escaping @Sendable (RebuildProgress) -> Void = { _ in },
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.workers = workers
        self.progress = progress
        self.isCancelled = isCancelled
    }
}

/// The progress of a rebuild in one of its phases: `scan`, `fold` or `load`.
public struct RebuildProgress: Hashable, Sendable {
    /// The name of the phase.
    public var phase: String
    /// The completed amount, in the unit of the phase.
    public var done: UInt64
    /// The total amount, in the unit of the phase.
    public var total: UInt64
}

/// The result of a rebuild.
public struct RebuildReport: Sendable {
    /// The number of events that the rebuild read; for a point in time, only the events up to that
    /// point.
    public var events: UInt64
    /// The elapsed time of each phase in seconds: `scan`, `fold`, `load`, and `flip` for the switch
    /// to the new file.
    public var phases: [(name: String, seconds: Double)]
    /// The results for each projection.
    public var projections: [ProjectionReport]
    /// The keys whose fold rejected an event.
    public var frozen: [FrozenKey]

    init(_ report: Rebuild.Report) {
        events = report.events
        phases = report.seconds.map { ($0.phase, $0.seconds) }
        projections = report.projections
        frozen = report.frozen
    }
}

/// The first difference between live tables and a rebuild.
public struct ViewsDifference: Sendable, Hashable, Codable {
    /// The name of the projection.
    public var projection: String
    /// The part of the projection that differs: `states`, `items` or `rows`.
    public var part: String
    /// The key, with unprintable bytes in hexadecimal.
    public var key: String
    /// A description of the difference.
    public var what: String
}

extension ProjectionRunner {
    /// Rebuilds projections next to the live tables and switches to the result; reads and appends
    /// continue meanwhile.
    ///
    /// - Parameter names: The projections to rebuild; nil for all that the store maintains.
    @available(*, noasync)
    public func rebuild(
        _ names: [String]? = nil, options: RebuildOptions = RebuildOptions()
    ) throws -> RebuildReport {
        let wanted = try drivers(named: names)
        try checkOpen()
        return try ProjectionError.naming {
            let lock = try StoreLock.rebuild(log.directory, waits: false)
            defer { withExtendedLifetime(lock) {} }
            return RebuildReport(try buildAndFlip(wanted, rebuild(wanted, .none, options)))
        }
    }

    /// Builds projections in a scratch file as of a point in time, and deletes the result.
    ///
    /// All receipts in the log are applied, even receipts that arrived after the requested point,
    /// because the log does not record when a receipt arrived.
    ///
    /// - Parameter names: The projections to build; nil for all that the store maintains.
    @available(*, noasync)
    public func replay(
        _ names: [String]? = nil, until point: HistoryPoint,
        options: RebuildOptions = RebuildOptions()
    ) throws -> RebuildReport {
        let wanted = try drivers(named: names)
        try checkOpen()
        let limit = try ProjectionError.naming { try point.limit(in: log) }
        return try inScratch(wanted, rebuild(wanted, limit, options)) { _, report in
            RebuildReport(report)
        }
    }

    /// Reads projections as they were at a point in history.
    ///
    /// If `body` reads states and items of single keys, only those keys are folded, which costs a
    /// lookup per event. Rows are read the same way if their projection has few events. For larger
    /// reads, the projections are built in a scratch file, at the cost of a rebuild, and deleted
    /// afterwards. All receipts in the log are applied, even receipts that arrived after the
    /// requested point, because the log does not record when a receipt arrived.
    ///
    /// - Parameters:
    ///   - projections: The names of the projections that `body` reads; nil for all that the store
    ///     maintains.
    ///   - body: Reads the data and must have no side effects. `body` may be called twice; the
    ///     result of the second call is then used.
    @available(*, noasync)
    public func read<R>(
        _ projections: [String]? = nil, asOf point: HistoryPoint,
        options: RebuildOptions = RebuildOptions(), _ body: (Views) throws -> R
    ) throws -> R {
        let wanted = try drivers(named: projections)
        try checkOpen()
        let limit = try ProjectionError.naming { try point.limit(in: log) }
        if let answer = try readKeys(wanted, limit, body) { return answer }
        let rebuild = rebuild(wanted, limit, options, reportsProjections: false)
        return try inScratch(wanted, rebuild) { file, _ in
            try file.environment.read { transaction in
                var sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)] =
                    [:]
                for driver in wanted {
                    guard let tables = file.tables[driver.fingerprint] else { continue }
                    sources[driver.fingerprint] = (tables, transaction.alias)
                }
                let scope = ViewsScope(log.origin)
                defer { scope.end() }
                return try body(Views(sources, scope))
            }
        }
    }

    /// Runs `body` on views that fold keys one by one; returns nil if `body` reads too much to be
    /// folded key by key.
    private func readKeys<R>(
        _ wanted: [ProjectionDriver], _ limit: Rebuild.Limit, _ body: (Views) throws -> R
    ) throws -> R? {
        try ProjectionError.naming {
            let folds = KeyFolds(try KeyFolder(log, wanted, limit))
            let scope = ViewsScope(log.origin)
            defer { scope.end() }
            do {
                let answer = try body(Views(folds, scope))
                // Even if `body` caught the error, the result of `body` is incomplete.
                return folds.isExceeded ? nil : answer
            } catch {
                guard folds.isExceeded else { throw error }
                return nil
            }
        }
    }

    /// Builds projections in a scratch file and compares them byte for byte with the live tables.
    ///
    /// - Parameter names: The projections to verify; nil for all that the store maintains.
    /// - Returns: The report of the rebuild, and the first difference in each projection that
    ///   differs.
    @available(*, noasync)
    public func verify(
        _ names: [String]? = nil, options: RebuildOptions = RebuildOptions()
    ) throws -> (report: RebuildReport, differences: [ViewsDifference]) {
        let wanted = try drivers(named: names)
        // Live tables continue to change, but live tables and rebuilt tables must be compared at
        // the same position, so try several times.
        for _ in 0..<3 {
            try ProjectionError.naming { try catchUp(wanted) }
            let found = try inScratch(wanted, rebuild(wanted, .none, options)) { scratch, report in
                try self.compare(wanted, scratch, report)
            }
            if let found { return found }
        }
        throw ProjectionError(
            .busy, "the log kept growing during the comparison",
            hint: "stop appending, or verify a backup")
    }

    func rebuild(
        _ wanted: [ProjectionDriver], _ limit: Rebuild.Limit, _ options: RebuildOptions,
        reportsProjections: Bool = true
    ) -> Rebuild {
        Rebuild(
            log, wanted, workers: options.workers, limit: limit,
            reportsProjections: reportsProjections, isCancelled: options.isCancelled
        ) {
            options.progress(
                RebuildProgress(phase: $0.phase, done: $0.done, total: $0.total))
        }
    }

    func inScratch<R>(
        _ wanted: [ProjectionDriver], _ rebuild: Rebuild,
        _ body: (ViewsFile, Rebuild.Report) throws -> R
    ) throws -> R {
        try checkOpen()
        return try ProjectionError.naming {
            let lock = try StoreLock.scratch(log.directory)
            defer { withExtendedLifetime(lock) {} }
            let path = log.directory.path + "/scratch-\(UUID().uuidString).mdb"
            let file = try ProjectionRunner.newFile(path, number: 0, wanted)
            defer {
                file.close()
                ProjectionRunner.unlinkViews(path)
            }
            return try body(file, try rebuild.run(into: file))
        }
    }

    // MARK: - Comparing

    /// Compares live tables with a scratch file; returns nil if the live tables have advanced
    /// beyond the scratch file.
    private func compare(
        _ wanted: [ProjectionDriver], _ scratch: ViewsFile, _ report: Rebuild.Report
    ) throws -> (report: RebuildReport, differences: [ViewsDifference])? {
        folding.lock()
        defer { folding.unlock() }
        var differences: [ViewsDifference] = []
        guard let groups = try serving(wanted) else { return nil }
        for (live, drivers) in groups {
            let isCurrent = try live.environment.read { liveTransaction in
                try scratch.environment.read { scratchTransaction in
                    try liveTransaction.readingAhead(live.meta) {
                        try scratchTransaction.readingAhead(scratch.meta) {
                            try self.compare(
                                drivers, live, liveTransaction, scratch, scratchTransaction,
                                as: report.checkpoint, &differences)
                        }
                    }
                }
            }
            guard isCurrent else { return nil }
        }
        return (RebuildReport(report), differences)
    }

    /// Adds the first difference in each driver's tables; returns false if the live tables have
    /// advanced.
    private func compare(
        _ drivers: [ProjectionDriver], _ live: ViewsFile,
        _ liveTransaction: borrowing ReadTransaction, _ scratch: ViewsFile,
        _ scratchTransaction: borrowing ReadTransaction, as checkpoint: ProjectionCheckpoint,
        _ differences: inout [ViewsDifference]
    ) throws -> Bool {
        for driver in drivers {
            guard try live.checkpoint(driver.fingerprint, liveTransaction) == checkpoint,
                let left = live.tables[driver.fingerprint],
                let right = scratch.tables[driver.fingerprint]
            else { return false }
            if let found = try ViewsComparison.first(
                driver, left, liveTransaction, right, scratchTransaction)
            {
                differences.append(found)
            }
        }
        return true
    }
}
