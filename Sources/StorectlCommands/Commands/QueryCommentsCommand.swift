internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query comments`.
struct QueryCommentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments",
        abstract: "List the comments on a video or an answer, oldest first.",
        discussion: """
            EXAMPLE:
              storectl query comments youtube:aqz-KE-bpKQ
              storectl query comments 'https://www.youtube.com/watch?v=aqz-KE-bpKQ' --json
              storectl query comments --answer 4711
            """)

    @OptionGroup var subject: CommentedOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let (video, answer) = (subject.video, subject.answer)
        // Rejects an invalid name before the store is opened.
        if let video { _ = try VideoKey(video) }
        if let answer { _ = try Tag("answer", answer) }
        let projections = parameters.projections
        let wanted: [any Projection] = [
            video != nil ? projections.videos : projections.answers
        ]
        let found = try options.query(projections, wanted) { queries in
            if let answer {
                return try queries.comments(
                    answer: answer, limit: page.limit, cursor: page.cursor)
            }
            return try queries.comments(
                video: video ?? "", limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .time("at"), .text("author"), .long("text"), .state("state"), .text("id"),
            ])
            for comment in found.comments {
                table.add([
                    comment.at?.description, comment.author, comment.text, comment.state.rawValue,
                    comment.id,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// The options that select the video or answer whose comments are shown.
struct CommentedOptions: ParsableArguments {
    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String?

    @Option(help: ArgumentHelp("List the comments on this answer instead.", valueName: "id"))
    var answer: String?

    func validate() throws {
        guard (video == nil) != (answer == nil) else {
            throw ValidationError("specify either VIDEO or --answer ID")
        }
    }
}
