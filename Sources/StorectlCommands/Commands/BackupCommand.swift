internal import ArgumentParser
internal import Tapedeck

/// The command `storectl backup`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up the log to a file while the store is in use.",
        discussion: """
            The log is verified first. If the log is damaged, no backup is written and an existing \
            file is kept. Logins and media are not included. storectl restore creates a new store \
            from a backup; to add the events to an existing store, use storectl export.

            EXAMPLE:
              storectl backup tapedeck-$(date +%F).backup
            """)

    @Argument(help: "The file to write; an existing file is replaced.", completion: .file())
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
                "backed up \(Figures.count(summary.events, "event")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
        }
    }
}
