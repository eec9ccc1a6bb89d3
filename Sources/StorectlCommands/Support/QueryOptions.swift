internal import ArgumentParser
internal import Tapedeck

/// The options of every query: the store and a point in its history.
struct QueryOptions: ParsableArguments {
    @Option(
        name: .customLong("as-of"),
        help: ArgumentHelp(
            "Show the list as of a log position or a point in time.",
            valueName: "position|time"))
    var asOf: String?

    @OptionGroup var store: StoreOptions

    /// Queries the given projections in their current state, or as of the point specified with
    /// `--as-of`.
    func query<R>(
        _ projections: VideoProjections, _ wanted: [any Projection],
        _ body: (VideoQueries<Views>) throws -> R
    ) throws -> R {
        guard let asOf else { return try store.query(projections, wanted, body) }
        let point = try HistoryPoint(asOf, "--as-of")
        Interruption.remember()
        return try store.withStore(projections) { store in
            let events = try store.log.currentHead().rawValue
            let meter = ProgressMeter("events")
            defer { meter.finish() }
            let options = RebuildOptions(
                progress: { meter.update($0, events: events) },
                isCancelled: { Interruption.isRequested })
            return try store.projections.read(
                wanted.map(\.name), asOf: point, options: options
            ) { views in
                meter.finish()
                return try body(VideoQueries(views, projections: projections))
            }
        }
    }

    /// Prints a report as JSON or as text.
    func print(
        _ document: @autoclosure () throws -> JSON, _ text: (inout TextReport) -> Void
    ) throws {
        try store.print(document(), text)
    }
}

extension ProgressMeter {
    /// Builds the missing parts of the given projections, with a progress bar.
    static func building(_ wanted: [any Projection], of store: TapedeckStore) throws {
        let events = try store.log.currentHead().rawValue
        let meter = ProgressMeter("events")
        defer { meter.finish() }
        let options = RebuildOptions(progress: { meter.update($0, events: events) })
        try store.projections.prepare(wanted.map(\.name), options: options)
    }

    /// Shows the progress of a rebuild in events, whatever unit the current phase counts.
    func update(_ progress: RebuildProgress, events: UInt64) {
        let part = progress.total > 0 ? min(1, Double(progress.done) / Double(progress.total)) : 1
        update(progress.phase, done: UInt64(part * Double(events)), total: events)
    }
}

extension HistoryPoint {
    /// Parses a plain number as a position, and any other string as a time.
    init(_ text: String, _ option: String) throws {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let number = UInt64(text) else {
                throw CommandError(.usage, "\(option): position \(text.prefix(40)) is too large")
            }
            self = .position(LogPosition(rawValue: number))
            return
        }
        self = .time(milliseconds: try TimeArgument.eventMilliseconds(text, option))
    }
}
