internal import ArgumentParser
internal import Tapedeck

/// `storectl query videos`.
struct QueryVideosCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "videos",
        abstract: "The videos that were shared, the one shared last first.",
        discussion: """
            EXAMPLE:
              storectl query videos --limit 10
              storectl query videos --winner newest --rule 2012 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.videos, projections.watchLater]) {
            try $0.videos(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .text("shared last"), .number("shared"), .number("comments"),
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

/// `storectl query duplicates`.
struct QueryDuplicatesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "The videos that were shared more than once.",
        discussion: """
            EXAMPLE:
              storectl query duplicates
              storectl query duplicates --winner newest --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.duplicates]) {
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

/// `storectl query watch-later`.
struct QueryWatchLaterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch-later",
        abstract: "The videos to be seen later, the one marked first in front.",
        discussion: """
            EXAMPLE:
              storectl query watch-later
              storectl query watch-later --rule 2012 --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.watchLater]) {
            try $0.watchLater(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([.text("video"), .text("since")])
            for video in found.videos { table.add([video.key, video.since.description]) }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// `storectl query comments`.
struct QueryCommentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments",
        abstract: "What was said about a video or an answer, oldest first.",
        discussion: """
            EXAMPLE:
              storectl query comments youtube:aqz-KE-bpKQ
              storectl query comments 'https://www.youtube.com/watch?v=aqz-KE-bpKQ' --json
              storectl query comments --answer 4711
            """)

    @Argument(help: "The video's key, provider:id, or any URL of it.")
    var video: String?

    @Option(help: ArgumentHelp("Of this answer instead.", valueName: "id"))
    var answer: String?

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard (video == nil) != (answer == nil) else {
            throw ValidationError("name a VIDEO or --answer ID, one of the two")
        }
    }

    func run() throws {
        // Says what is wrong with the name before the store is opened.
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
            var table = TextTable([.text("at"), .text("author"), .long("text"), .text("id")])
            for comment in found.comments {
                table.add([comment.at?.description, comment.author, comment.text, comment.id])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

/// `storectl query answers`.
struct QueryAnswersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answers",
        abstract: "The answers that were handed in, the last first.",
        discussion: """
            EXAMPLE:
              storectl query answers --json
            """)

    @OptionGroup var page: PageOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        let found = try options.query(projections, [projections.answers]) {
            try $0.answers(limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("answer"), .text("question"), .text("state"), .number("seconds"),
                .number("comments"), .long("address"),
            ])
            for answer in found.answers {
                table.add([
                    answer.id, answer.question, answer.state.rawValue,
                    answer.durationSeconds.map { Figures.fixed($0, 1) },
                    String(answer.commentCount), answer.videoUrl,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text)
        }
    }
}

extension StoreOptions {
    /// Asks projections as of now; only those that are wanted are brought up to date.
    func query<R>(
        _ projections: VideoProjections, _ wanted: [any Projection],
        _ body: (VideoQueries<Views>) throws -> R
    ) throws -> R {
        try withStore(projections) { store in
            try store.projections.read(wanted.map(\.name)) { views in
                try body(VideoQueries(views, projections: projections))
            }
        }
    }
}
