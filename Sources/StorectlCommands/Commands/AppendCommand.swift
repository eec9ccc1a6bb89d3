internal import ArgumentParser
internal import Tapedeck

/// `storectl append`.
struct AppendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Record events.",
        discussion: """
            Returns when the events are on disk. With --file, each line is {"type", "payload", "at"?}; \
            a bad line is refused with its number and the others are kept; then the exit code is 2. \
            Lines that storectl log --json writes can be read back.

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
        try options.print(report.json) { text in
            text.line("recorded \(Figures.count(report.recorded, "event"))")
            if let first = report.first, let last = report.last {
                let range =
                    first.position == last.position
                    ? "\(first.id) at position \(first.position)"
                    : "\(first.id) to \(last.id), positions \(first.position) to \(last.position)"
                text.line(range)
            }
        }
        guard report.refusedCount > 0 else { return }
        report.diagnose()
        throw ReportedFailure(.someRefused)
    }

    private func appendOne() throws -> AppendReport {
        let time = try at.map { UInt64(try TimeArgument.milliseconds($0, "--at")) }
        let proposal = try EventCatalogue.video.proposal(
            type: type ?? "", json: payload ?? "", atMilliseconds: time)
        var report = AppendReport()
        try options.withLog { report.add(try $0.appendBlocking([proposal])) }
        return report
    }
}

/// What an append reports.
struct AppendReport {
    /// A line that was refused.
    struct Refusal {
        let line: Int
        let code: ErrorCode
        let message: String
    }

    /// So many refusals are listed; the others are counted.
    static let refusalsListedMax = 10_000
    /// So many of them on stderr.
    static let refusalsDiagnosedMax = 20

    private(set) var recorded = 0
    private(set) var first: (id: EventID, position: LogPosition)?
    private(set) var last: (id: EventID, position: LogPosition)?
    private(set) var refused: [Refusal] = []
    private(set) var refusedCount = 0

    mutating func add(_ appended: AppendedEvents) {
        recorded += appended.count
        if first == nil { first = (appended.firstID, appended.firstPosition) }
        last = (appended.lastID, appended.lastPosition)
    }

    mutating func refuse(line: Int, _ error: some CodedError) {
        refusedCount += 1
        guard refused.count < AppendReport.refusalsListedMax else { return }
        refused.append(Refusal(line: line, code: error.code, message: error.message))
    }

    var json: JSON {
        func place(_ event: (id: EventID, position: LogPosition)?) -> JSON {
            guard let event else { return .null }
            return ["id": .text(event.id.description), "position": .init(event.position.rawValue)]
        }
        return [
            "recorded": .init(recorded), "first": place(first), "last": place(last),
            "refused": .list(
                refused.map {
                    [
                        "line": .init($0.line), "code": .text($0.code.rawValue),
                        "message": .text($0.message),
                    ]
                }),
            "refusedCount": .init(refusedCount),
        ]
    }

    func diagnose() {
        for refusal in refused.prefix(AppendReport.refusalsDiagnosedMax) {
            StandardOutput.diagnose("refused: line \(refusal.line): \(refusal.message)")
        }
        if refusedCount > AppendReport.refusalsDiagnosedMax {
            let more = refusedCount - AppendReport.refusalsDiagnosedMax
            StandardOutput.diagnose("refused: \(Figures.count(more, "line")) more; see --json")
        }
    }
}
