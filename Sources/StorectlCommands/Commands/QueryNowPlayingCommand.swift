internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query now-playing`.
struct QueryNowPlayingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "now-playing",
        abstract: "Show what each device is playing, most recent report first.",
        discussion: """
            EXAMPLE:
              storectl query now-playing
              storectl query now-playing youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "List only devices on which this video, given as a key or URL, is loaded.")
    var video: String?

    @OptionGroup var now: NowOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let time = try now.time()
        if let video { _ = try VideoKey(video) }
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.nowPlaying, projections.playback, projections.videos,
        ]
        let found = try options.query(projections, wanted) { queries in
            if let video {
                return try queries.nowPlaying(
                    video: video, at: time, limit: page.limit, cursor: page.cursor)
            }
            return try queries.nowPlaying(at: time, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("device"), .text("video"), .text("playing"), .number("position"),
                .number("estimate"), .time("reported"),
            ])
            for device in found.devices {
                table.add([
                    device.device, device.video, device.playing ? "yes" : "no",
                    Figures.fixed(device.positionSeconds, 1),
                    Figures.fixed(device.estimatedSeconds, 1), device.at.description,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
