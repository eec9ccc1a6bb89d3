internal import ArgumentParser
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl ingest`.
struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Record the facts in saved responses from a remote system.",
        discussion: """
            Facts that the store already has are skipped, so a file can be ingested again. \
            Elements that cannot be read are reported with their paths and skipped, and the exit \
            code is 2.

            With --date, the file is the complete schedule of that day: episodes that are in an \
            earlier response but not in this file are recorded as cancelled.

            Resources: \(IngestResource.all.map(\.name).joined(separator: ", ")).

            EXAMPLE:
              storectl ingest tvmaze/schedule US.json --observed-at 2019-07-11T08:30:00Z
              storectl ingest tvmaze/schedule - --observed-at 2019-07-11 --date 2019-07-12
              storectl ingest tvmaze/cast - --show 1 < cast.json
              storectl ingest shelby/dashboard day.json --list dashboard/4e38
              storectl ingest birdtube/messages chat.json --video youtube:aqz-KE-bpKQ
            """)

    @Argument(
        help: ArgumentHelp("The kind of response.", valueName: "system/resource"),
        completion: .list(IngestResource.all.map(\.name)))
    var resource: String

    @Argument(help: "Files that contain JSON responses; - is stdin.", completion: .file())
    var file: [String]

    @Option(
        help: ArgumentHelp(
            "The time at which the responses were received (default: unknown).", valueName: "time"))
    var observedAt: String?

    @Option(
        help: ArgumentHelp(
            "The show's TVmaze id, if the response does not contain it.", valueName: "id"))
    var show: Int64?

    @Option(
        help: ArgumentHelp(
            "The video that the chat belongs to: its key or any of its URLs.", valueName: "video"))
    var video: String?

    @Option(
        help: ArgumentHelp(
            "The Shelby list in the file: stream, personal-roll, dashboard/ID or roll/ID.",
            valueName: "name"))
    var list: String?

    @Option(
        help: ArgumentHelp(
            "Treat the file as the complete schedule of this day, YYYY-MM-DD; requires --observed-at.",
            valueName: "date"))
    var date: String?

    @Option(
        help: ArgumentHelp(
            "With --date, the schedule's country (default: US; for web schedules, worldwide).",
            valueName: "code"))
    var country: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard date == nil || file.count == 1 else {
            throw ValidationError("--date requires exactly one file")
        }
        guard country == nil || date != nil else {
            throw ValidationError("--country requires --date")
        }
    }

    func run() throws {
        let resource = try IngestResource.named(resource)
        let listing = try date.map { try ListingRequest(date: $0, country: country) }
        let observedAt = try observedAt.map { try TimeArgument.milliseconds($0, "--observed-at") }
        // Rejects invalid options and missing files before anything is recorded.
        _ = try resource.read(
            Array("[]".utf8), show: show, video: video, list: list, listing: listing,
            observedAt: observedAt)
        let inputs = try file.map { try FileInput($0) }
        let reports = try options.withLog { log in
            let meter = ProgressMeter("files")
            defer { meter.finish() }
            return try inputs.enumerated().map { index, input in
                meter.update("ingest", done: UInt64(index), total: UInt64(inputs.count))
                return try ingest(input, resource, listing, observedAt, FactRecorder(log: log))
            }
        }
        try options.print(["files": .list(reports.map(\.json))]) { text in
            var table = TextTable([
                .text("file"), .number("read"), .number("recorded"), .number("known"),
                .number("refused"),
            ])
            for report in reports {
                let counts = [
                    report.read, report.outcome.recorded, report.outcome.known,
                    report.refused.count,
                ]
                table.add([report.file] + counts.map(String.init))
            }
            text.table(table)
        }
        for report in reports { report.diagnose() }
        if reports.contains(where: { !$0.refused.isEmpty }) { throw ReportedFailure(.someRefused) }
    }

    private func ingest(
        _ input: FileInput, _ resource: IngestResource, _ listing: ListingRequest?,
        _ observedAt: Int64?, _ recorder: FactRecorder
    ) throws -> FileReport {
        let bytes = try input.readAll(bytesMax: IngestResource.documentBytesMax)
        let result = try resource.read(
            bytes, show: show, video: video, list: list, listing: listing, observedAt: observedAt)
        let meter = ProgressMeter("facts")
        defer { meter.finish() }
        let outcome = try recorder.record(result.proposals) { done in
            meter.update(input.name, done: UInt64(done), total: UInt64(result.proposals.count))
        }
        return FileReport(
            file: input.name, read: result.read, outcome: outcome, refused: result.refused)
    }
}

/// The outcome of ingesting one file.
private struct FileReport {
    let file: String
    let read: Int
    let outcome: FactRecorder.Outcome
    let refused: [IngestRefusal]

    /// The maximum number of refusals printed to stderr per file.
    static let diagnosedMax = 20

    var json: JSON {
        [
            "file": .text(file), "read": .init(read), "recorded": .init(outcome.recorded),
            "known": .init(outcome.known),
            "refused": .list(
                refused.map {
                    [
                        "path": .text($0.path), "code": .text($0.code.rawValue),
                        "message": .text($0.message),
                    ]
                }),
        ]
    }

    func diagnose() {
        for refusal in refused.prefix(FileReport.diagnosedMax) {
            StandardOutput.diagnose("refused: \(file): \(refusal.path): \(refusal.message)")
        }
        if refused.count > FileReport.diagnosedMax {
            let more = refused.count - FileReport.diagnosedMax
            StandardOutput.diagnose("refused: \(file): \(more) more; see --json")
        }
    }
}
