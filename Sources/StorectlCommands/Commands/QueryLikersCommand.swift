internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query likers`.
struct QueryLikersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "likers",
        abstract: "List the users who like an answer.",
        discussion: """
            Your own like is listed first until a remote shows it.

            EXAMPLE:
              storectl query likers 4711
              storectl query likers 4711 --limit 20 --json
            """)

    @Argument(help: ArgumentHelp("The answer's id.", valueName: "id"))
    var answer: String

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        _ = try Tag("answer", answer)
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.answers, projections.users, projections.accounts,
        ]
        let found = try options.query(projections, wanted) {
            try $0.likers(of: answer, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([.text("user"), .text("name"), .state("state"), .long("message")])
            for liker in found.likers {
                table.add([liker.user, liker.username, liker.state.rawValue, liker.message])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
