internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query extractions`.
struct QueryExtractionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extractions",
        abstract: "Show whether content URLs are valid, and why extractions failed.",
        discussion: """
            EXAMPLE:
              storectl query extractions vimeo:1084537
              storectl query extractions vimeo:1084537 --window 600 --json
              storectl query extractions
            """)

    @Argument(help: "The videos, as keys or URLs (default: list failed extractions).")
    var videos: [String] = []

    @Option(
        help: ArgumentHelp(
            "The number of seconds for which a content URL without an expiry time is valid.",
            valueName: "seconds"))
    var window = QueryLimits.extractionWindowSeconds

    @OptionGroup var now: NowOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let time = try now.time()
        for video in videos { _ = try VideoKey(video) }
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.extractions]) {
            videos.isEmpty
                ? try $0.failedExtractions(
                    at: time, windowSeconds: window, limit: page.limit, cursor: page.cursor)
                : try $0.extractions(of: videos, at: time, windowSeconds: window)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .state("state"), .time("valid until"), .text("reason"),
                .number("failures"), .time("next try"), .long("url"),
            ])
            for video in found.videos {
                table.add([
                    video.video, video.state.rawValue, video.goodUntil?.description, video.reason,
                    String(video.failures), video.nextTryAt?.description, video.url,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
