internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

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
public struct RebuildProgress: Sendable {
    /// The phase's name.
    public var phase: String
    /// How much of it is done, in the phase's own unit.
    public var done: UInt64
    /// How much there is.
    public var total: UInt64
}

/// What a rebuild did.
public struct RebuildReport: Sendable {
    /// Events in the log that it read.
    public var events: UInt64
    /// Wall time of each phase in seconds.
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

    /// Builds projections in scratch as of a place in the log and throws the result away.
    @available(*, noasync)
    public func replay(
        _ names: [String]? = nil, until position: LogPosition,
        options: RebuildOptions = RebuildOptions()
    ) throws -> RebuildReport {
        let wanted = try drivers(named: names)
        return try inScratch(wanted, rebuild(wanted, .position(position), options)) { _, report in
            RebuildReport(report)
        }
    }

    /// Builds projections in scratch from the events whose effective stamp is not later than `time`.
    @available(*, noasync)
    public func replay(
        _ names: [String]? = nil, untilMilliseconds time: UInt64,
        options: RebuildOptions = RebuildOptions()
    ) throws -> RebuildReport {
        let wanted = try drivers(named: names)
        let end = Stamp(milliseconds: min(time, Stamp.millisecondsMax), counter: .max)
        return try inScratch(wanted, rebuild(wanted, .time(end), options)) { _, report in
            RebuildReport(report)
        }
    }

    /// Builds projections in scratch and compares them with the live ones, byte for byte.
    ///
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

    private func rebuild(
        _ wanted: [ProjectionDriver], _ limit: Rebuild.Limit, _ options: RebuildOptions
    ) -> Rebuild {
        Rebuild(
            log, wanted, workers: options.workers, limit: limit, isCancelled: options.isCancelled
        ) {
            options.progress(
                RebuildProgress(phase: $0.phase, done: $0.done, total: $0.total))
        }
    }

    private func inScratch<R>(
        _ wanted: [ProjectionDriver], _ rebuild: Rebuild,
        _ body: (ViewsFile, Rebuild.Report) throws -> R
    ) throws -> R {
        try checkOpen()
        return try ProjectionError.naming {
            let lock = try StoreLock.scratch(log.directory)
            defer { withExtendedLifetime(lock) {} }
            let path = log.directory.path + "/scratch-\(UUID().uuidString).mdb"
            let file = try ViewsFile(
                path: path, number: 0, projections: wanted.map(\.fingerprint), creating: true)
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
                    for driver in drivers {
                        guard try live.checkpoint(driver.fingerprint, liveTransaction)
                                == report.checkpoint,
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
            guard isCurrent else { return nil }
        }
        return (RebuildReport(report), differences)
    }

    // MARK: - State of affairs

    /// How far each projection has come, and the keys that are frozen. Folds nothing.
    @available(*, noasync)
    public func status() throws -> [ProjectionStatus] {
        opening.lock()
        defer { opening.unlock() }
        try checkOpen()
        let head = try log.currentHead().rawValue
        return try drivers.map { driver in
            var status = ProjectionStatus(
                name: driver.name, version: driver.version, position: 0, behind: head, frozen: 0)
            guard let entry = try log.viewsEntry(driver.fingerprint) else { return status }
            if files.withLock({ $0[driver.fingerprint]?.number }) != entry.number {
                guard try openIfServing(entry) else { return status }
            }
            status.position = try checkpoint(of: driver)?.position ?? 0
            status.behind = head - min(head, status.position)
            status.frozen = try frozenKeys(of: driver).count
            return status
        }
    }

    /// The keys that are frozen because their fold refused an event.
    @available(*, noasync)
    public func frozenKeys() throws -> [FrozenKey] {
        _ = try status()
        return try drivers.flatMap { try frozenKeys(of: $0) }
    }

    private func frozenKeys(of driver: ProjectionDriver) throws -> [FrozenKey] {
        guard let file = files.withLock({ $0[driver.fingerprint] }),
            let tables = file.tables[driver.fingerprint]
        else { return [] }
        return try file.environment.read { transaction in
            let cursor = try transaction.cursor(tables.extra)
            var found: [FrozenKey] = []
            var entry = try cursor.seek(Array("z".utf8))
            while let row = entry {
                if let frozen = FrozenKey(decoding: row.value) { found.append(frozen) }
                entry = try cursor.next()
            }
            return found
        }
    }
}

/// How far one projection has come.
public struct ProjectionStatus: Sendable, Codable, Hashable {
    /// The projection's name.
    public var name: String
    /// Its version.
    public var version: Int
    /// Every event up to here is folded; 0 where nothing is built yet.
    public var position: UInt64
    /// How many events are not folded yet.
    public var behind: UInt64
    /// How many keys are frozen.
    public var frozen: Int
}

/// Walks two builds of a projection side by side.
enum ViewsComparison {
    static func first(
        _ driver: ProjectionDriver, _ left: ViewsFile.Tables, _ live: borrowing ReadTransaction,
        _ right: ViewsFile.Tables, _ fresh: borrowing ReadTransaction
    ) throws -> ViewsDifference? {
        for part in ViewsDigest.Part.allCases {
            let one = try live.cursor(left.table(part))
            let other = try fresh.cursor(right.table(part))
            var a = try one.first()
            var b = try other.first()
            while a != nil || b != nil {
                let what: String?
                var key = a?.key ?? b?.key
                if let x = a, let y = b {
                    if x.key.elementsEqual(y.key) {
                        what = x.value.elementsEqual(y.value) ? nil : "the values differ"
                    } else if RowWalker.precedes(x.key, y.key) {
                        what = "the live tables have it, a fresh rebuild does not"
                    } else {
                        key = y.key
                        what = "a fresh rebuild has it, the live tables do not"
                    }
                } else {
                    what =
                        a != nil
                        ? "the live tables have it, a fresh rebuild does not"
                        : "a fresh rebuild has it, the live tables do not"
                }
                if let what, let key {
                    return ViewsDifference(
                        projection: driver.name, part: "\(part)", key: readable(key, part),
                        what: what)
                }
                a = try one.next()
                b = try other.next()
            }
        }
        return nil
    }

    /// The tag in a key of states or items; other keys with their unprintable bytes in hexadecimal.
    static func readable(_ key: UnsafeRawBufferPointer, _ part: ViewsDigest.Part) -> String {
        if part != .rows, key.count > 9 {
            let end = min(key.count, 9 + Int(key[8]))
            let tag = String(decoding: key[9..<end], as: UTF8.self)
            return end == key.count ? tag : tag + " " + printable(key[end...])
        }
        return printable(key[...])
    }

    private static func printable(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var text = ""
        for byte in bytes {
            text +=
                (0x21...0x7E).contains(byte)
                ? String(UnicodeScalar(byte)) : "\\x" + [byte].hex
        }
        return text
    }
}
