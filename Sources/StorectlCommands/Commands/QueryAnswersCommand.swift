internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query answers`.
struct QueryAnswersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answers",
        abstract: "List answers, unpublished ones first, then newest first.",
        discussion: """
            EXAMPLE:
              storectl query answers --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = parameters.projections
        let wanted: [any Projection] = [
            projections.answers, projections.questions, projections.users, projections.accounts,
        ]
        let found = try options.query(projections, wanted) {
            try $0.answers(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("answer"), .text("question"), .state("state"), .number("seconds"),
                .number("comments"), .long("url or message"),
            ])
            for answer in found.answers {
                table.add([
                    answer.id, answer.question, answer.state.rawValue,
                    answer.durationSeconds.map { Figures.fixed($0, 1) },
                    String(answer.commentCount), answer.videoUrl ?? answer.message,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}
