internal import ArgumentParser
internal import Tapedeck

/// `storectl backup`.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store to one file while it is in use.",
        discussion: """
            EXAMPLE:
              storectl backup tapedeck-$(date +%F).backup
            """)

    @Argument(help: "Where to; what stands there is replaced.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog(isReading: true) { try $0.backup(to: file) }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "copied \(Figures.count(summary.events, "event")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
        }
    }
}
