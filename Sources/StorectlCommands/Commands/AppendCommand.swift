internal import ArgumentParser
internal import Tapedeck

/// The command `storectl append`.
struct AppendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Append events to the log.",
        discussion: """
            The command returns once the events are on disk. With --file, each line is {"type", \
            "payload", "at"?}; lines printed by storectl log --json are accepted. Invalid lines \
            are reported with their numbers and skipped, and the exit code is 2.

            storectl append validates only the event itself; storectl do also checks it against \
            the current state.

            If a payload contains an unknown field, the error lists the fields of the event type. \
            schema/events.md describes the fields.

            Types: \(EventCatalogue.video.typeNames.joined(separator: ", ")).

            EXAMPLE:
              storectl append CommentPosted '{"video":"youtube:aqz","text":"Nice."}'
              storectl append --file events.jsonl
            """)

    @Argument(
        help: "The type of the event.", completion: .list(EventCatalogue.video.typeNames))
    var type: String?

    @Argument(help: ArgumentHelp("The payload.", valueName: "json"))
    var payload: String?

    @Option(
        help: ArgumentHelp(
            "The time at which the event happened (default: now).", valueName: "time"))
    var at: String?

    @Option(help: "A file with one event per line; - is stdin.", completion: .file())
    var file: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if file != nil {
            guard type == nil, at == nil else {
                throw ValidationError(
                    "--file cannot be combined with TYPE, JSON or --at; each line contains its own")
            }
        } else if type == nil || payload == nil {
            throw ValidationError("either TYPE and JSON or --file FILE is required")
        }
    }

    func run() throws {
        let report: AppendReport
        if let file {
            let input = try FileInput(file)
            Interruption.remember()
            report = try options.withLog { log in
                var appender = FileAppender(log: log, input: input)
                return try appender.run()
            }
        } else {
            report = try appendOne()
        }
        try options.print(report.json) { report.write(&$0) }
        guard report.refusedCount > 0 else { return }
        report.diagnose()
        throw ReportedFailure(.someRefused)
    }

    private func appendOne() throws -> AppendReport {
        let time = try at.map { try TimeArgument.eventMilliseconds($0, "--at") }
        let proposal = try AppendableEvents.proposal(
            type: type ?? "", json: Array((payload ?? "").utf8), atMilliseconds: time)
        var report = AppendReport()
        try options.withLog { report.add(try $0.appendBlocking([proposal])) }
        return report
    }
}
