internal import ArgumentParser
internal import Tapedeck

/// `storectl restore`.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a store of a backup where there is none.",
        discussion: """
            The restored store goes on under an origin of its own, so that it cannot contradict \
            the store that the backup was taken of.

            EXAMPLE:
              storectl restore tapedeck-2019-07-11.backup --store ~/restored
            """)

    @Argument(help: "What storectl backup wrote.", completion: .file())
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
