internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query videos`.
struct QueryVideosCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "videos",
        abstract: "List shared videos, most recently shared first.",
        discussion: """
            EXAMPLE:
              storectl query videos --limit 10
              storectl query videos --winner newest --rule 2012 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.videos, projections.watchLater]) {
            try $0.videos(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .time("last shared"), .number("shares"), .number("comments"),
                .text("later"), .text("sharer"), .long("title"),
            ])
            for video in found.videos {
                table.add([
                    video.key, video.newestAt?.description, String(video.broadcasts),
                    String(video.commentCount), video.watchLater ? "yes" : "no", video.sharer,
                    video.title,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
