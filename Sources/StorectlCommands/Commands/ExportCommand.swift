internal import ArgumentParser
internal import Tapedeck

/// The command `storectl export`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all events to a file that any store can import.",
        discussion: """
            The file contains the events with their ids, hash chains and receipts. Exporting an \
            unchanged store again writes the same bytes. Use an export to add the events to \
            another store, and a backup (storectl backup) to recover from the loss of a store.

            EXAMPLE:
              storectl export events.tapedeck
            """)

    @Argument(help: "The file to write; an existing file is replaced.", completion: .file())
    var file: String

    @OptionGroup var options: StoreOptions

    func run() throws {
        let summary = try options.withLog(isReading: true) { log in
            try ProgressMeter.showing("events") { try log.export(to: file, progress: $0) }
        }
        try options.print(JSON(encoding: summary)) { text in
            text.line(
                "exported \(Figures.count(summary.events, "event")) from"
                    + " \(Figures.count(summary.origins, "origin")) and"
                    + " \(Figures.count(summary.receipts, "receipt")) to \(file),"
                    + " \(Figures.bytes(summary.bytes))")
            text.line("digest \(summary.digest)")
        }
    }
}
