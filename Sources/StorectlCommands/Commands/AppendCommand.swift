internal import ArgumentParser
internal import Tapedeck

/// `storectl append`.
struct AppendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Record events.",
        discussion: """
            Returns when the events are on disk. With --file, each line is {"type", "payload", \
            "at"?}; a bad line is refused with its number and the others are kept; then the exit \
            code is 2. Lines that storectl log --json writes can be read back.

            An event is recorded as it is, if it makes sense by itself. Whether what is known allows \
            it is checked by storectl do, which makes the events of what somebody wants to do.

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

    @Option(help: ArgumentHelp("When it happened; else now.", valueName: "time"))
    var at: String?

    @Option(help: "A file with an event a line; - is stdin.", completion: .file())
    var file: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if file != nil {
            guard type == nil, at == nil else {
                throw ValidationError("--file takes no TYPE, JSON or --at: each line has its own")
            }
        } else if type == nil || payload == nil {
            throw ValidationError("a TYPE and its JSON are missing, or --file FILE")
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
