internal import ArgumentParser
internal import Tapedeck

/// `storectl query list`.
struct QueryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "A group of videos, from any place on in both directions.",
        discussion: """
            Groups: timeline, favourites and watch-later in the order of sharing; likes, the one liked last
            first; popular and new, what users handed in; and the lists of remotes: stream, personal-roll,
            dashboard/ID and roll/ID.

            EXAMPLE:
              storectl query list timeline --playable --newest 300
              storectl query list stream --from 40 --limit 20 --json
            """)

    @Argument(
        help: ArgumentHelp("The group.", valueName: "group"),
        transform: VideoGroup.init(argument:))
    var group: VideoGroup

    @OptionGroup var part: PartOptions
    @OptionGroup var now: NowOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let time = try now.time()
        let projections = parameters.projections
        var kept: [any Projection] = [
            projections.videos, projections.watchLater, projections.playability,
        ]
        switch group {
        case .listed: kept.append(projections.lists)
        case .popular, .new:
            kept += [projections.submissions, projections.viewCounts, projections.accounts]
        default: break
        }
        let found = try options.query(projections, kept) {
            try $0.videos(
                in: group, at: time, from: part.from, newest: part.newest,
                playableOnly: part.playable, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .time("shared last"), .number("shared"), .text("liked"),
                .text("later"), .state("playable"), .text("sharer"), .long("title"),
            ])
            for video in found.videos {
                table.add([
                    video.key, video.newestAt?.description, String(video.broadcasts),
                    video.liked ? "yes" : "no", video.watchLater ? "yes" : "no",
                    video.playability.rawValue, video.sharer, video.title,
                ])
            }
            text.table(table)
            if let previous = found.previous {
                text.remark("there is more in front: --cursor \(previous)")
            }
            page.remark(next: found.next, &text)
        }
    }
}

/// Which part of a group is listed.
struct PartOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many are left out in front.", valueName: "index"))
    var from = 0

    @Option(
        help: ArgumentHelp(
            "Only what the N broadcasts that were shared last show, or the first N entries.",
            valueName: "n"))
    var newest: Int?

    @Flag(help: "Only what is known to be playable.")
    var playable = false
}
