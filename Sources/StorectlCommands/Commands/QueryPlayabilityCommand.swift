internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query playability`.
struct QueryPlayabilityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playability",
        abstract: "Show whether videos are playable and when to check again.",
        discussion: """
            Use storectl do check to check the videos that are due; an app can also check them.

            EXAMPLE:
              storectl query playability youtube:aqz-KE-bpKQ
              storectl query playability --state due --json
            """)

    @Argument(help: "The videos, as keys or URLs (default: list all videos in the given --state).")
    var videos: [String] = []

    @Option(help: "List only videos in this state.")
    var state = StateArgument.all

    @OptionGroup var now: NowOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func validate() throws {
        guard videos.isEmpty || state == .all else {
            throw ValidationError("--state cannot be combined with videos")
        }
    }

    func run() throws {
        let time = try now.time()
        for video in videos { _ = try VideoKey(video) }
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.videos, projections.playability]) {
            videos.isEmpty
                ? try $0.playability(
                    state.filter, at: time, limit: page.limit, cursor: page.cursor)
                : try $0.playability(of: videos, at: time)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .state("state"), .text("reason"), .time("checked"),
                .number("failures"), .time("next check"), .text("due"),
                .long("check url"),
            ])
            for video in found.videos {
                table.add([
                    video.video, video.state.rawValue, video.reason, video.checkedAt?.description,
                    String(video.failures), video.nextTryAt?.description,
                    video.due ? "yes" : "no", video.checkUrl,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// The state of the videos to list; `all` lists videos in every state.
enum StateArgument: String, ExpressibleByArgument, CaseIterable {
    case all, unknown, playable, unplayable, failed, due

    var filter: PlayabilityFilter { PlayabilityFilter(rawValue: rawValue) ?? .all }
}
