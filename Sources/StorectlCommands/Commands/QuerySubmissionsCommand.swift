internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query submissions`.
struct QuerySubmissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submissions",
        abstract: "List the videos that users submitted, most viewed or newest first.",
        discussion: """
            Your own submissions that no remote lists yet come first.

            EXAMPLE:
              storectl query submissions
              storectl query submissions --order new --limit 5 --json
            """)

    @Option(help: "The order: popular (most views first) or new (newest first).")
    var order = OrderArgument.popular

    @Option(help: ArgumentHelp("The maximum number of entries, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.submissionsCountDefault

    @Option(
        help: ArgumentHelp(
            "The \"next\" value of the previous page.", valueName: "next"))
    var cursor: String?

    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.submissions, projections.viewCounts, projections.accounts,
        ]
        let found = try options.query(projections, wanted) {
            try $0.submissions(order: order.order, limit: limit, cursor: cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .state("state"), .number("views"), .time("created"), .text("by"),
                .long("title"),
            ])
            for video in found.videos {
                table.add([
                    video.key, video.state.rawValue, video.views.map(String.init),
                    video.createdAt?.description, video.nickname, video.title ?? video.message,
                ])
            }
            text.table(table)
            if let next = found.next {
                text.more(
                    "there is more: --cursor \(ShellWord.quoted(next))",
                    isLimitSet: limit != QueryLimits.submissionsCountDefault)
            }
        }
    }
}

/// `popular` or `new`.
enum OrderArgument: String, ExpressibleByArgument, CaseIterable {
    case popular, new

    var order: SubmissionOrder { self == .popular ? .popular : .new }
}
