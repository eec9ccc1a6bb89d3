internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query playback`.
struct QueryPlaybackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playback",
        abstract: "Show where you left off in videos, most recently played first.",
        discussion: """
            EXAMPLE:
              storectl query playback
              storectl query playback youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "The videos, as keys or URLs (default: list the videos in progress).")
    var videos: [String] = []

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        for video in videos { _ = try VideoKey(video) }
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.playback, projections.statistics, projections.videos,
        ]
        let found = try options.query(projections, wanted) {
            videos.isEmpty
                ? try $0.inProgress(limit: page.limit, cursor: page.cursor)
                : try $0.playback(of: videos)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .state("state"), .number("position"), .number("length"),
                .time("played"), .time("finished"), .number("viewings"),
            ])
            for video in found.videos {
                table.add([
                    video.video, video.state.rawValue, Figures.fixed(video.resumeSeconds, 1),
                    video.durationSeconds.map { Figures.fixed($0, 1) },
                    video.playedAt?.description, video.finishedAt?.description,
                    String(video.viewings),
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
