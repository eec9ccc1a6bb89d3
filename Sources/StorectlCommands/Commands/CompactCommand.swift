internal import ArgumentParser
internal import Tapedeck

/// The command `storectl compact`.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Remove superseded events and shrink the log file.",
        discussion: """
            Removes playback reports that affect no list, and keeps only the latest event about \
            what a device plays, about a video's content URL, and about a contact. Lists stay the \
            same, with one exception: with --rule 2012, a video may stay on watch-later longer if \
            the user marked it again after playing 75 % of it. Queries with --as-of use the \
            remaining events, so their results may be less accurate.

            Events that have not reached every server and subscription are kept. Up to 1,023 of \
            the newest events of each device are also kept. The store may be in use, but its file \
            shrinks only if no other process has it open.

            EXAMPLE:
              storectl compact --store ~/tapedeck
            """)

    @Flag(help: "Keep the size of the log file; new events reuse the free space.")
    var keepSize = false

    @OptionGroup var options: StoreOptions

    /// The document that `--json` prints.
    private struct Outcome: Encodable {
        var compaction: CompactionReport
        /// The file's size before and after the compaction; nil if the file was not rewritten.
        @NullWhenNil var file: ShrinkSummary?
    }

    func run() throws {
        let meter = ProgressMeter("events")
        defer { meter.finish() }
        var outcome = Outcome(
            compaction: try options.withStore { store in
                try store.projections.compact(.video(store.log)) {
                    meter.update($0.phase.rawValue, done: $0.done, total: $0.total)
                }
            })
        meter.finish()
        var isBusy = false
        if !keepSize {
            do {
                outcome.file = try EventLog.shrink(try options.directory())
            } catch let error as LogError where error.code == .busy {
                isBusy = true
            }
        }
        try options.print(JSON(encoding: outcome)) { text in
            let report = outcome.compaction
            text.line(
                report.removed == 0
                    ? "nothing to remove (\(Figures.count(report.examined, "event")) examined)"
                    : "removed \(Figures.count(report.removed, "event"))"
                        + " (\(Figures.count(report.examined, "event")) examined)")
            for waiting in report.waiting {
                text.line(
                    "origin \(waiting.origin) was not compacted from event \(waiting.sequence) onwards:"
                        + " \(PrintedCommand.completed(CompactCommand.text(of: waiting.reason)))")
            }
            if let file = outcome.file {
                text.line(
                    "the size of the log file is now \(Figures.bytes(file.bytes)); it was"
                        + " \(Figures.bytes(file.bytesBefore))")
            } else if isBusy {
                text.line("the log file was not shrunk: another process has the store open")
            }
        }
    }

    private static func text(of reason: CompactionReport.Reason) -> String {
        switch reason {
        case .notDelivered: "some events lack a receipt from a server; run storectl sync"
        case .clock: "some events are dated in the future; a server may correct their times"
        case .subscription: "a subscription has not acknowledged all events; see storectl status"
        case .projections: "projections have not processed all events"
        }
    }
}
