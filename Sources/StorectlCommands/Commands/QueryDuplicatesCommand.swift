internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query duplicates`.
struct QueryDuplicatesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "List videos that were shared more than once.",
        discussion: """
            EXAMPLE:
              storectl query duplicates
              storectl query duplicates --winner newest --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.videos]) {
            try $0.duplicates(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .text("winner"), .number("count"), .long("broadcasts"),
            ])
            for video in found.videos {
                table.add([
                    video.key, video.winner, String(video.broadcastCount),
                    video.broadcasts.joined(separator: " "),
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
