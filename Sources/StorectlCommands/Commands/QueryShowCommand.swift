internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query show`.
struct QueryShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a TV show with its episodes and cast.",
        discussion: """
            EXAMPLE:
              storectl query show 118
            """)

    @Argument(help: ArgumentHelp("The show's TVmaze id.", valueName: "id"))
    var id: Int64

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let show = try options.query(projections, [projections.shows, projections.schedule]) {
            try $0.show(id)
        }
        try options.print(JSON(encoding: show)) { text in
            if show.name == nil {
                text.remark(
                    PrintedCommand.completed(
                        "only these parts of show \(show.id) are known;"
                            + " storectl ingest tvmaze/show FILE adds the rest"))
            }
            text.fields([
                ("name", show.name ?? "-"), ("network", show.network ?? "-"),
                ("genres", show.genres.joined(separator: ", ")),
                ("runtime", show.runtimeMinutes.map { "\($0) min" } ?? "-"),
                ("image", show.image ?? "-"), ("summary", show.summary ?? "-"),
            ])
            if !show.episodes.isEmpty {
                var table = TextTable([
                    .number("season"), .number("number"), .moment("starts"), .long("episode"),
                    .text("id"),
                ])
                for episode in show.episodes {
                    table.add([
                        episode.season.map(String.init), episode.number.map(String.init),
                        episode.startsAt?.description, episode.name, String(episode.id),
                    ])
                }
                text.line()
                text.table(table)
            }
            if !show.cast.isEmpty {
                var table = TextTable([.text("person"), .text("character")])
                for member in show.cast { table.add([member.person, member.character]) }
                text.line()
                text.table(table)
            }
        }
    }
}
