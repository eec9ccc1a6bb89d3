internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query list`.
struct QueryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the videos of a group, with paging in both directions.",
        discussion: """
            The groups timeline, favourites and watch-later show the most recently shared video \
            first; the group likes shows the most recently liked video first. The groups popular \
            and new contain the submitted videos that a remote lists. The groups stream, \
            personal-roll, dashboard/ID and roll/ID are lists kept by remotes.

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
                .text("video"), .time("last shared"), .number("shares"), .text("liked"),
                .text("watch later"), .state("playable"), .text("sharer"), .long("title"),
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
                text.remark("there are earlier entries: --cursor \(ShellWord.quoted(previous))")
            }
            page.remark(next: found.next, &text)
        }
    }
}

/// The command `storectl query lists`.
struct QueryListsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lists",
        abstract: "List the rolls and dashboards that remotes keep, by title.",
        discussion: """
            The result contains the rolls that you follow, and the lists that you read with \
            storectl sync --list. Use query list to show the videos of a list.

            EXAMPLE:
              storectl query lists
              storectl query lists --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.knownLists]) {
            try $0.lists(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("list"), .text("followed"), .text("owner"), .long("title"),
            ])
            for list in found.lists { table.add(list.cells) }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

extension ListEntry {
    /// The cells of a row in a table of lists.
    var cells: [String] {
        [
            list, isFollowed.map { $0 ? "yes" : "no" } ?? "", ownerName ?? owner ?? "",
            title ?? "",
        ]
    }
}

/// The options that select a part of a group.
struct PartOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The number of entries to skip.", valueName: "index"))
    var from = 0

    @Option(
        help: ArgumentHelp(
            "In timeline, favourites and watch-later, list only the videos of the N most recent"
                + " broadcasts; in other groups, list only the first N entries.",
            valueName: "n"))
    var newest: Int?

    @Flag(help: "List only videos known to be playable.")
    var playable = false
}
