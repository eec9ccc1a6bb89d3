internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query downloads`.
struct QueryDownloadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "List a device's downloads, and show which to evict to fit a budget.",
        discussion: """
            EXAMPLE:
              storectl query downloads
              storectl query downloads --budget 1000000000 --current vimeo:7
            """)

    @Argument(help: "List only these videos (keys or URLs), if they are downloaded.")
    var videos: [String] = []

    @Option(help: ArgumentHelp("The device's name.", valueName: "name"))
    var device = Downloads.defaultDevice

    @Option(
        help: ArgumentHelp("The number of bytes that downloads may use.", valueName: "bytes"))
    var budget: UInt64?

    @Option(
        help: ArgumentHelp(
            "The video that is playing; it is never evicted.", valueName: "video"))
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
                .text("video"), .number("bytes"), .time("downloaded"), .text("watched"),
                .text("evict"), .text("blob"),
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
