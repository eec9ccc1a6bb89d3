internal import ArgumentParser
internal import Tapedeck

/// The command `storectl do check`.
struct DoCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check whether videos can be played, using their ids or a provider's response.",
        discussion: """
            With --due, the command records each result that needs no request, such as an \
            unsupported provider, and counts the videos that have to be checked with their \
            providers. storectl makes no requests: request the checkUrl of each video, and record \
            the response with --status. If there was no response, use storectl do playability \
            VIDEO failed.

            EXAMPLE:
              storectl do check --due
              storectl query playability --state due --json
              storectl do check youtube:aqz-KE-bpKQ --status 200 --body-file answer.json
              storectl do check vimeo:1084537 --status 404 --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String?

    @Flag(help: "Check all videos whose check is due; see storectl query playability.")
    var due = false

    @Option(help: "The HTTP status of the provider's response.")
    var status: Int?

    @Option(
        help: ArgumentHelp("The body of the provider's response; - is stdin.", valueName: "file"))
    var bodyFile: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard due == (video == nil), due == (status == nil) else {
            throw ValidationError("specify either --due, or a video and --status")
        }
        if let status {
            guard (100...599).contains(status) else {
                throw ValidationError("--status is not an HTTP status: \(status)")
            }
            guard status != 200 || bodyFile != nil else {
                throw ValidationError("--status 200 requires --body-file")
            }
        } else if bodyFile != nil {
            throw ValidationError("--body-file requires --status")
        }
    }

    func run() async throws {
        guard let video, let status else { return try await checkDue() }
        let (key, now) = (try VideoKey(video), UTCTime.now)
        let body = try bodyFile.map {
            try FileInput($0).readAll(bytesMax: PlayabilityCheck.answerBytesMax)
        }
        let finding = PlayabilityCheck(key).finding(status: status, body: body ?? [])
        try await options.decide(VideoProjections.standard.playability, key: key.tag) {
            try CheckPlayability(key, finding, now: now).decide($0)
        }
    }

    /// Records, page by page, the results that can be determined without a request.
    private func checkDue() async throws {
        let store = try options.openStore()
        defer { store.close() }
        let playability = VideoProjections.standard.playability
        try ProgressMeter.building([playability], of: store)
        let now = UTCTime.now
        var (report, requests, cursor) = (AppendReport(), 0, String?.none)
        repeat {
            let page = try await store.query([playability.name]) { [cursor] in
                try VideoQueries($0).playability(
                    .due, at: now, limit: QueryLimits.pageCountMax, cursor: cursor)
            }
            let checks = page.videos.compactMap { try? VideoKey($0.video) }
                .map { (video: $0, finding: PlayabilityCheck($0).finding) }
            let found = checks.compactMap { video, finding in
                finding.map { CheckPlayability(video, $0, now: now) }
            }
            requests += checks.count - found.count
            cursor = page.next
            guard !found.isEmpty else { continue }
            let appended = try await store.decide(reading: [playability.name]) { views in
                try found.flatMap { try $0.decide(VideoQueries(views)) }
            }
            if let appended { report.add(appended) }
        } while cursor != nil
        try options.print(report.recordedJSON.adding("requests", .init(requests))) { text in
            report.write(&text)
            guard requests > 0 else { return }
            text.line(
                "\(Figures.count(requests, "due video")) left to check with the provider;"
                    + " see " + PrintedCommand.completed("storectl query playability --state due"))
        }
    }
}
