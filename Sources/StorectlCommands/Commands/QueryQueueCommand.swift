internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query queue`.
struct QueryQueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show the play queue.",
        discussion: """
            EXAMPLE:
              storectl query queue
              storectl query queue youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "Show only these videos (keys or URLs), if they are queued.")
    var videos: [String] = []

    @Option(help: ArgumentHelp("The queue's name.", valueName: "name"))
    var queue = PlayQueue.defaultName

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        for video in videos { _ = try VideoKey(video) }
        _ = try PlayQueue.tag(queue)
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.queue]) {
            videos.isEmpty
                ? try $0.queue(queue, limit: page.limit, cursor: page.cursor)
                : try $0.queue(queue, of: videos)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .time("since"), .text("previous"), .text("next"),
            ])
            for video in found.videos {
                table.add([video.video, video.at.description, video.previous, video.next])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
