internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query questions`.
struct QueryQuestionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "questions",
        abstract: "List unanswered questions, newest first.",
        discussion: """
            Your own questions that no remote shows yet come first.

            EXAMPLE:
              storectl query questions --mine
              storectl query questions --to 7 --all --json
            """)

    @OptionGroup var asked: QuestionOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        if let to = asked.to { _ = try Tag("user", to) }
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.questions, projections.users, projections.accounts,
        ]
        let found = try options.query(projections, wanted) { queries in
            asked.mine
                ? try queries.ownQuestions(
                    isPending: !asked.all, limit: page.limit, cursor: page.cursor)
                : try queries.questions(
                    to: asked.to, isPending: !asked.all, limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("question"), .state("state"), .text("from"), .text("to"), .long("text"),
            ])
            for question in found.questions {
                table.add([
                    question.id, question.state.rawValue, question.senderName ?? question.sender,
                    question.receiverName ?? question.receiver, question.text,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// The options that select questions.
struct QuestionOptions: ParsableArguments {
    @Flag(help: "List only questions addressed to you.")
    var mine = false

    @Option(help: ArgumentHelp("List only questions addressed to this user.", valueName: "user"))
    var to: String?

    @Flag(help: "Include answered questions.")
    var all = false

    func validate() throws {
        guard !mine || to == nil else {
            throw ValidationError("--mine and --to cannot be combined")
        }
    }
}
