internal import ArgumentParser
internal import Tapedeck

/// `storectl backup`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store to one file while it is in use.",
        discussion: """
            The store is verified first: of one that is damaged there is no backup, and what stands at \
            the place stays.

            EXAMPLE:
              storectl backup tapedeck-$(date +%F).backup
            """)

    @Argument(help: "Where to; what stands there is replaced.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let meter = ProgressMeter("events")
        defer { meter.finish() }
        let summary = try options.withLog(isReading: true) { log in
            try log.backup(to: file) {
                meter.update($0.phase.rawValue, done: $0.done, total: $0.total)
            }
        }
        meter.finish()
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "copied \(Figures.count(summary.events, "event")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
        }
    }
}
