internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// A point of a store's history.
public enum HistoryPoint: Hashable, Sendable {
    /// What the log held when it ended here.
    case position(LogPosition)
    /// What had happened by a time in Unix milliseconds, as known today.
    case time(milliseconds: UInt64)

    var limit: Rebuild.Limit {
        switch self {
        case .position(let position): .position(position)
        case .time(let time):
            .time(Stamp(milliseconds: min(time, Stamp.millisecondsMax), counter: .max))
        }
    }
}

/// How a rebuild is asked for and what it reports.
public struct RebuildOptions: Sendable {
    /// Threads that read and fold; nil for one a core.
    public var workers: Int?
    /// Called often, from several threads; it must not wait for a projection that is being built.
    public var progress: @Sendable (RebuildProgress) -> Void
    /// Asked often; true ends the rebuild with a `CancellationError` and leaves everything as it was.
    public var isCancelled: @Sendable () -> Bool

    /// Makes options.
    public init(
        workers: Int? = nil, progress: @escaping @Sendable (RebuildProgress) -> Void = { _ in },
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.workers = workers
        self.progress = progress
        self.isCancelled = isCancelled
    }
}

/// Where a rebuild is: `done` of `total` in a phase (`scan`, `fold`, `load`).
public struct RebuildProgress: Hashable, Sendable {
    /// The phase's name.
    public var phase: String
    /// How much of it is done, in the phase's own unit.
    public var done: UInt64
    /// How much there is.
    public var total: UInt64
}

/// What a rebuild did.
public struct RebuildReport: Sendable {
    /// Events in the log that it read; with a time as its end, those that had happened by then.
    public var events: UInt64
    /// Wall time of each phase in seconds: `scan`, `fold`, `load`; and `flip`, where what was built serves
    /// from then on.
    public var phases: [(name: String, seconds: Double)]
    /// What came out.
    public var projections: [ProjectionReport]
    /// Keys whose fold refused an event.
    public var frozen: [FrozenKey]

    init(_ report: Rebuild.Report) {
        events = report.events
        phases = report.seconds.map { ($0.phase, $0.seconds) }
        projections = report.projections
        frozen = report.frozen
    }
}

/// The first place at which live tables and a fresh rebuild differ.
public struct ViewsDifference: Sendable, Hashable, Codable {
    /// The projection.
    public var projection: String
    /// `states`, `items` or `rows`.
    public var part: String
    /// The key, readable where it is text.
    public var key: String
    /// What is different there.
    public var what: String
}

extension ProjectionRunner {
    /// Rebuilds projections beside the live ones and flips to them; readers and appends go on.
    ///
    /// - Parameter names: which ones; nil for all that the store keeps.
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

    /// Builds projections in scratch as of a point of history and throws the result away.
    ///
    /// Receipts count as they are known today: the log does not keep when it learned of one.
    ///
    /// - Parameter names: which ones; nil for all that the store keeps.
    @available(*, noasync)
    public func replay(
        _ names: [String]? = nil, until point: HistoryPoint,
        options: RebuildOptions = RebuildOptions()
    ) throws -> RebuildReport {
        let wanted = try drivers(named: names)
        return try inScratch(wanted, rebuild(wanted, point.limit, options)) { _, report in
            RebuildReport(report)
        }
    }

    /// Reads projections as they were at a point of the log.
    ///
    /// Keys whose states and items `body` asks for are folded alone, as are the rows of projections with few
    /// events: that costs a look-up for each of their events. Where it asks for more, the projections are
    /// built in scratch, which costs what a rebuild of them does, and thrown away behind `body`. Receipts
    /// count as they are known today: the log does not keep when it learned of one.
    ///
    /// - Parameters:
    ///   - projections: the names that `body` reads; nil for all that the store keeps.
    ///   - body: reads what it needs and does nothing else: it may be run twice, of which the second counts.
    @available(*, noasync)
    public func read<R>(
        _ projections: [String]? = nil, asOf point: HistoryPoint,
        options: RebuildOptions = RebuildOptions(), _ body: (Views) throws -> R
    ) throws -> R {
        let wanted = try drivers(named: projections)
        try checkOpen()
        if let answer = try readKeys(wanted, point, body) { return answer }
        return try inScratch(wanted, rebuild(wanted, point.limit, options)) { file, _ in
            try file.environment.read { transaction in
                var sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)] =
                    [:]
                for driver in wanted {
                    guard let tables = file.tables[driver.fingerprint] else { continue }
                    sources[driver.fingerprint] = (tables, transaction.alias)
                }
                let scope = ViewsScope()
                defer { scope.end() }
                return try body(Views(sources, scope))
            }
        }
    }

    /// Reads keys that are folded alone; nil where `body` wants more than that.
    private func readKeys<R>(
        _ wanted: [ProjectionDriver], _ point: HistoryPoint, _ body: (Views) throws -> R
    ) throws -> R? {
        try ProjectionError.naming {
            let folds = KeyFolds(try KeyFolder(log, wanted, point.limit))
            let scope = ViewsScope()
            defer { scope.end() }
            do {
                let answer = try body(Views(folds, scope))
                // Whatever has become of the error, the answer lacks something.
                return folds.isExceeded ? nil : answer
            } catch {
                guard folds.isExceeded else { throw error }
                return nil
            }
        }
    }

    /// Builds projections in scratch and compares them with the live ones, byte for byte.
    ///
    /// - Parameter names: which ones; nil for all that the store keeps.
    /// - Returns: what came out, and the first difference of each projection that differs.
    @available(*, noasync)
    public func verify(
        _ names: [String]? = nil, options: RebuildOptions = RebuildOptions()
    ) throws -> (report: RebuildReport, differences: [ViewsDifference]) {
        let wanted = try drivers(named: names)
        // Live tables go on to change; both sides are compared as of one position.
        for _ in 0..<3 {
            try ProjectionError.naming { try catchUp(wanted) }
            let found = try inScratch(wanted, rebuild(wanted, .none, options)) { scratch, report in
                try self.compare(wanted, scratch, report)
            }
            if let found { return found }
        }
        throw ProjectionError(
            .busy, "the log grew faster than it could be compared",
            hint: "stop appending, or verify a backup")
    }

    func rebuild(
        _ wanted: [ProjectionDriver], _ limit: Rebuild.Limit, _ options: RebuildOptions
    ) -> Rebuild {
        Rebuild(
            log, wanted, workers: options.workers, limit: limit, isCancelled: options.isCancelled
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

    /// Nil where the live tables have gone past what the scratch was built of.
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

    /// Adds the first difference of each driver; false where the live tables have gone on.
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
