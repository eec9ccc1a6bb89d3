internal import ArgumentParser
internal import Tapedeck

/// `storectl import`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Record the events of an exported file that are not known yet.",
        discussion: """
            A file that is damaged, or that contradicts what is recorded, is refused before \
            anything of it is recorded.

            EXAMPLE:
              storectl import events.tapedeck
            """)

    @Argument(help: "What storectl export wrote.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog { log in
            try ProgressMeter.showing("events") { try log.importEvents(from: file, progress: $0) }
        }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "recorded \(Figures.count(summary.recorded, "event")) and"
                    + " \(Figures.count(summary.receipts, "receipt"));"
                    + " \(Figures.grouped(summary.known)) were known")
        }
    }
}
