internal import ArgumentParser
internal import Tapedeck

/// `storectl query downloads`.
struct QueryDownloadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "What lies on a device's disk, and what has to go for a budget.",
        discussion: """
            EXAMPLE:
              storectl query downloads
              storectl query downloads --budget 1000000000 --current vimeo:7
            """)

    @Argument(help: "Only these, if they are there: keys, provider:id, or URLs.")
    var videos: [String] = []

    @Option(help: ArgumentHelp("Which device.", valueName: "name"))
    var device = Downloads.defaultDevice

    @Option(help: ArgumentHelp("The most bytes that are to stay.", valueName: "bytes"))
    var budget: UInt64?

    @Option(help: ArgumentHelp("What plays, and stays.", valueName: "video"))
    var current: String?

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        for video in videos { _ = try VideoKey(video) }
        _ = try Downloads.tag(device)
        let playing = try current.map { try VideoKey($0) }
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [projections.downloads, projections.playback]
        let found = try options.query(projections, wanted) { queries in
            var found =
                videos.isEmpty
                ? try queries.downloads(device: device, limit: page.limit, cursor: page.cursor)
                : try queries.downloads(of: videos, device: device)
            if let budget {
                found.evictions = try queries.evictions(
                    DownloadBudget(bytesMax: budget), device: device, current: playing
                ).map(\.text)
            }
            return found
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .number("bytes"), .time("since"), .text("watched"), .text("goes"),
                .text("blob"),
            ])
            for video in found.videos {
                table.add([
                    video.video, String(video.bytes), video.at.description,
                    video.watched ? "yes" : "no",
                    found.evictions.contains(video.video) ? "yes" : "no", video.blob,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
