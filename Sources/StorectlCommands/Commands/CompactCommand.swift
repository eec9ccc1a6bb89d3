internal import ArgumentParser
internal import Tapedeck

/// `storectl compact`.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract:
            "Take away what later events say as well, and make the log's file shorter.",
        discussion: """
            Players' reports go that say nothing new, and of what a device plays, where a video was found or \
            was not, all but the newest. No list changes, but that watch later by --rule 2012 may meet a mark \
            that was set again late; lists --as-of a time gone by are as exact as what was left of it. What \
            has not reached every server and subscription stays, and so do the last thousand events of each \
            device. The store may be in use meanwhile; its file gets shorter only while no other process has \
            it open.

            EXAMPLE:
              storectl compact --store ~/tapedeck
            """)

    @Flag(help: "Leave the file as long as it is; what is recorded next uses the room.")
    var keepSize = false

    @OptionGroup var options: StoreOptions

    /// What `--json` prints.
    private struct Outcome: Encodable {
        var compaction: CompactionReport
        /// Nil where the file was left as it is.
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
                    ? "nothing to take away among \(Figures.count(report.examined, "event"))"
                    : "took away \(Figures.count(report.removed, "event")) of"
                        + " \(Figures.count(report.examined, "event")) that were looked at")
            for waiting in report.waiting {
                text.line(
                    "origin \(waiting.origin) waits at event \(waiting.sequence):"
                        + " \(CompactCommand.text(of: waiting.reason))")
            }
            if let file = outcome.file {
                text.line(
                    "the log's file has \(Figures.bytes(file.bytes)), was"
                        + " \(Figures.bytes(file.bytesBefore))")
            } else if isBusy {
                text.line("the log's file is as long as it was: another process has the store open")
            }
        }
    }

    private static func text(of reason: CompactionReport.Reason) -> String {
        switch reason {
        case .notDelivered: "not delivered to every server and read back from it; run storectl sync"
        case .clock: "its clock is ahead; a server may put it right"
        case .subscription: "a subscription has not acknowledged it; storectl status lists them"
        case .projections: "projections have not taken it in"
        }
    }
}
