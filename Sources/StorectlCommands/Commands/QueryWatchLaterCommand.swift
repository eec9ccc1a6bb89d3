internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query watch-later`.
struct QueryWatchLaterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch-later",
        abstract: "List the videos marked to watch later, oldest mark first.",
        discussion: """
            EXAMPLE:
              storectl query watch-later
              storectl query watch-later --rule 2012 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.watchLater]) {
            try $0.watchLater(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([.text("video"), .time("since")])
            for video in found.videos { table.add([video.key, video.since.description]) }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
