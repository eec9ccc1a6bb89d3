internal import ArgumentParser
internal import Tapedeck

/// The command `storectl restore`.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Create a store from a backup.",
        discussion: """
            The restored store writes new events under a new origin id, so they cannot conflict \
            with events of the original store.

            EXAMPLE:
              storectl restore tapedeck-2019-07-11.backup --store ~/restored
            """)

    @Argument(help: "A backup file.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let directory = try options.directory()
        CrashGuard.install(directory, isJSON: options.json, hint: "use another backup")
        let meter = ProgressMeter("events")
        defer { meter.finish() }
        let summary = try EventLog.restore(from: file, into: directory) {
            meter.update($0.phase.rawValue, done: $0.done, total: $0.total)
        }
        meter.finish()
        try options.print(JSON(encoding: summary)) { text in
            text.line("restored \(Figures.count(summary.events, "event")) into \(directory)")
        }
    }
}
