internal import ArgumentParser
internal import Tapedeck

/// The command `storectl replay`.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Rebuild projections from the log.",
        discussion: """
            New tables are built next to the live tables, which stay in use until they are \
            replaced. --verify only compares a new build with the live tables, and exits with 3 if \
            they differ. --until builds the state as of a log position or a time, reports it, and \
            discards it. --until applies all receipts from servers, even receipts that arrived \
            later. --diff lists the rows that other values of --winner or --rule would change.

            Projections: \(ShippedProjections.names.joined(separator: ", ")).

            EXAMPLE:
              storectl replay
              storectl replay watch-later --verify
              storectl replay --until 2019-07-11T12:00:00Z --json
              storectl replay --diff --winner newest
            """)

    @Argument(
        help: "The projections to rebuild (default: all except unused search indexes).",
        completion: .list(ShippedProjections.names))
    var projection: [String] = []

    @Flag(help: "Compare a fresh build with the live tables, without replacing them.")
    var verify = false

    @Flag(help: "List the rows that --winner and --rule would change, without changing them.")
    var diff = false

    @Option(
        help: ArgumentHelp(
            "Build the projections as of a log position or a time, then discard them.",
            valueName: "position|time"))
    var until: String?

    @Option(
        help: ArgumentHelp(
            "The number of threads, 1 to 64 (default: one per core).", valueName: "n"))
    var workers: Int?

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func validate() throws {
        if verify, until != nil {
            throw ValidationError("--verify and --until cannot be combined")
        }
        if diff, verify || until != nil {
            throw ValidationError("--diff cannot be combined with --verify or --until")
        }
        if let workers, !(1...64).contains(workers) {
            throw ValidationError("--workers must be 1 to 64")
        }
    }

    func run() throws {
        let limit = try until.map { try HistoryPoint($0, "--until") }
        Interruption.remember()
        if diff, parameters.areDefault {
            throw CommandError(
                .usage, "--diff needs --winner newest or --rule 2012",
                hint: ShippedProjections.diffHint)
        }
        let pairs =
            diff ? try ShippedProjections.pairs(parameters.projections, named: projection) : []
        var report = try options.withStore(diff ? .standard : parameters.projections) { store in
            try replay(
                store.projections, projection.isEmpty ? nil : projection, pairs, limit,
                events: store.log.currentHead().rawValue)
        }
        if verify, projection.isEmpty { try verifyOthers(&report) }
        let difference = report.differences?.first.map {
            CommandError(
                .checkFailed,
                "\($0.projection): \($0.part) of \($0.key): \($0.what)",
                hint: "storectl replay \($0.projection) rebuilds the projection;"
                    + " please report this bug")
        }
        try options.print(report.json(error: difference)) { report.write(&$0) }
        if let difference { throw ReportedFailure(.checkFailed, difference) }
    }

    /// Also verifies the projections that the store has built with parameters other than the given
    /// ones.
    private func verifyOthers(_ report: inout ReplayReport) throws {
        func form(_ projection: any Projection) -> [String] {
            [projection.name, projection.parameters]
        }
        var seen = Set(ShippedProjections.all(parameters.projections).map(form))
        for other in ParameterOptions.allProjections {
            let fresh = ShippedProjections.all(other).filter { seen.insert(form($0)).inserted }
            guard !fresh.isEmpty else { continue }
            try options.withStore(other) { store in
                let built = Set(try store.projections.status().filter(\.isBuilt).map(\.name))
                let kept = fresh.filter { built.contains($0.name) }
                guard !kept.isEmpty else { return }
                let found = try replay(
                    store.projections, kept.map(\.name), [], nil,
                    events: store.log.currentHead().rawValue)
                report.add(
                    found,
                    parameters: Dictionary(
                        uniqueKeysWithValues: kept.map { ($0.name, $0.parameters) }))
            }
        }
    }

    private func replay(
        _ projections: ProjectionRunner, _ names: [String]?, _ pairs: [ShippedProjections.Pair],
        _ limit: HistoryPoint?, events: UInt64
    ) throws -> ReplayReport {
        let meter = ProgressMeter("events")
        let memory = MemorySampler()
        let start = ContinuousClock.now
        let rebuildOptions = RebuildOptions(
            workers: workers,
            progress: { meter.update($0, events: events) },
            isCancelled: { Interruption.isRequested })
        defer {
            meter.finish()
            _ = memory.stop()
        }
        var rebuilt: RebuildReport
        var differences: [ViewsDifference]?
        var changes: [(projection: any Projection, row: RowDifference)]?
        if let first = pairs.first {
            var found: [(projection: any Projection, row: RowDifference)] = []
            func compare(_ pair: ShippedProjections.Pair) throws -> RebuildReport {
                try projections.compare(pair.usual, with: pair.other, options: rebuildOptions) {
                    found.append((pair.other, $0))
                    return true
                }
            }
            rebuilt = try compare(first)
            for pair in pairs.dropFirst() { rebuilt.projections += try compare(pair).projections }
            changes = found
        } else if verify {
            (rebuilt, differences) = try projections.verify(names, options: rebuildOptions)
        } else if let limit {
            rebuilt = try projections.replay(names, until: limit, options: rebuildOptions)
        } else {
            rebuilt = try projections.rebuild(names, options: rebuildOptions)
        }
        return ReplayReport(
            rebuilt: rebuilt, seconds: (ContinuousClock.now - start).inSeconds,
            peakMemoryBytes: memory.stop(), differences: differences, changes: changes)
    }
}

/// The report of a replay.
private struct ReplayReport {
    let rebuilt: RebuildReport
    private(set) var seconds: Double
    private(set) var peakMemoryBytes: Int
    /// The differences from the live tables; nil without `--verify`.
    private(set) var differences: [ViewsDifference]?
    /// The reports on projections built with other parameters, each with the parameters used.
    private(set) var others: [(parameters: String, projection: ProjectionReport)] = []
    /// The rows that other parameters would change; nil without `--diff`.
    let changes: [(projection: any Projection, row: RowDifference)]?

    init(
        rebuilt: RebuildReport, seconds: Double, peakMemoryBytes: Int,
        differences: [ViewsDifference]?,
        changes: [(projection: any Projection, row: RowDifference)]?
    ) {
        self.rebuilt = rebuilt
        self.seconds = seconds
        self.peakMemoryBytes = peakMemoryBytes
        self.differences = differences
        self.changes = changes
    }

    /// Adds the report of projections built with other parameters.
    mutating func add(_ other: ReplayReport, parameters: [String: String]) {
        seconds += other.seconds
        peakMemoryBytes = max(peakMemoryBytes, other.peakMemoryBytes)
        differences = (differences ?? []) + (other.differences ?? [])
        others += other.rebuilt.projections.map { (parameters[$0.name] ?? "", $0) }
    }

    private var eventsPerSecond: Double { seconds > 0 ? Double(rebuilt.events) / seconds : 0 }

    func json(error: CommandError?) throws -> JSON {
        var document: JSON = [
            "events": .init(rebuilt.events), "seconds": .init(seconds: seconds),
            "eventsPerSecond": .number(eventsPerSecond.rounded()),
            "peakMemoryBytes": .init(peakMemoryBytes),
            "projections": .list(
                try rebuilt.projections.map { try JSON(encoding: $0) }
                    + others.map {
                        try JSON(encoding: $0.projection).adding("parameters", .text($0.parameters))
                    }),
            "phases": .list(
                rebuilt.phases.map {
                    ["name": .text($0.name), "seconds": .init(seconds: $0.seconds)]
                }),
            "frozen": .list(try rebuilt.frozen.map { try JSON(encoding: $0) }),
        ]
        if let differences {
            document = document.adding("verified", .init(differences.isEmpty))
                .adding("differences", .list(try differences.map { try JSON(encoding: $0) }))
        }
        if let changes {
            document = document.adding(
                "changes",
                .list(
                    changes.map { projection, row in
                        [
                            "projection": .text(projection.name),
                            "table": .text(projection.tables[row.table]),
                            "row": .text(row.name), "change": .text(row.kind.rawValue),
                        ]
                    }))
        }
        if let error { document = document.adding("error", error.json) }
        return document
    }

    func write(_ text: inout TextReport) {
        if let changes { return write(changes, &text) }
        var table = TextTable([
            .text("projection"), .number("version"), .number("keys"), .number("rows"),
            .text("digest"),
        ])
        let all =
            rebuilt.projections.map { ($0.name, $0) }
            + others.map { ("\($0.projection.name) \($0.parameters)", $0.projection) }
        for (name, projection) in all {
            table.add([
                name, String(projection.version), Figures.grouped(projection.keys),
                Figures.grouped(projection.rows), projection.digest,
            ])
        }
        text.table(table)
        let phases = rebuilt.phases.map { "\($0.name) \(Figures.seconds($0.seconds))" }
        text.line(
            "\(Figures.count(rebuilt.events, "event")) in \(Figures.seconds(seconds)),"
                + " \(Figures.grouped(Int64(eventsPerSecond)))/s,"
                + " \(Figures.bytes(peakMemoryBytes)) of memory")
        text.remark(phases.joined(separator: ", "))
        if let differences {
            text.line(differences.isEmpty ? "verified: equal" : "verified: different")
        }
        if !rebuilt.frozen.isEmpty {
            text.line(
                "\(Figures.count(rebuilt.frozen.count, "key")) frozen: see "
                    + PrintedCommand.completed("storectl doctor"))
        }
    }

    private func write(
        _ changes: [(projection: any Projection, row: RowDifference)], _ text: inout TextReport
    ) {
        var table = TextTable([.text("projection"), .text("table"), .text("change"), .long("row")])
        for (projection, row) in changes {
            table.add([
                projection.name, projection.tables[row.table], row.kind.rawValue, row.name,
            ])
        }
        text.table(table)
        text.remark(Figures.count(changes.count, "row"))
    }
}
