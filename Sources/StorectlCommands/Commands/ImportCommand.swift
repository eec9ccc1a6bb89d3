internal import ArgumentParser
internal import Tapedeck

/// The command `storectl import`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import missing events from an export file.",
        discussion: """
            If the file is damaged or contradicts the store, nothing is imported. An export of a \
            demo store can only be imported into another demo store (storectl init --demo).

            EXAMPLE:
              storectl import events.tapedeck
            """)

    @Argument(help: "An export file.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog { log in
            try ProgressMeter.showing("events") { try log.importEvents(from: file, progress: $0) }
        }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "imported \(Figures.count(summary.recorded, "event")) and"
                    + " \(Figures.count(summary.receipts, "receipt"));"
                    + " already known: \(Figures.grouped(summary.known))")
        }
    }
}
