internal import ArgumentParser
internal import Tapedeck

/// The command `storectl watch comments`.
struct WatchCommentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments",
        abstract: "Watch the comments on a video or an answer; see query comments.",
        discussion: """
            EXAMPLE:
              storectl watch comments youtube:aqz-KE-bpKQ
              storectl watch comments --answer 4711 --json
            """)

    @OptionGroup var subject: CommentedOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let (limit, projections) = (watching.limit, parameters.projections)
        let list: LiveList<CommentEntry> =
            if let answer = subject.answer {
                try .comments(answer: answer, limit: limit, projections: projections)
            } else {
                try .comments(video: subject.video ?? "", limit: limit, projections: projections)
            }
        try watching.run(list, projections, options) { [$0.at?.description, $0.author, $0.text] }
    }
}

/// The command `storectl watch chat`.
struct WatchChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Watch a video's chat, newest message first; see query chat.",
        discussion: """
            EXAMPLE:
              storectl watch chat youtube:aqz-KE-bpKQ
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .chat(video: video, limit: watching.limit), .standard, options
        ) { [$0.at.description, $0.sender?.name, $0.text ?? $0.file?.name] }
    }
}

/// The command `storectl watch answers`.
struct WatchAnswersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answers",
        abstract: "Watch answers; see query answers.",
        discussion: """
            EXAMPLE:
              storectl watch answers
            """)

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        try watching.run(
            .answers(limit: watching.limit, projections: projections), projections, options
        ) {
            [$0.id, $0.state.rawValue, $0.questionText]
        }
    }
}

/// The command `storectl watch questions`.
struct WatchQuestionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "questions",
        abstract: "Watch questions; see query questions.",
        discussion: """
            With --to or --mine, only questions that a remote shows are listed. With --mine, the \
            list is empty while you are not signed in, and a line that starts with ~ reports this.

            EXAMPLE:
              storectl watch questions --mine
              storectl watch questions --to 7 --all
            """)

    @OptionGroup var asked: QuestionOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let cells: @Sendable (QuestionEntry) -> [String?] = {
            [$0.id, $0.state.rawValue, $0.senderName, $0.text]
        }
        if asked.mine {
            let own: ArrangedList<QuestionEntry, QuestionEntry> = .ownQuestions(
                isPending: !asked.all, limit: watching.limit)
            return try watching.run(own, .standard, options, cells)
        }
        try watching.run(
            .questions(to: asked.to, isPending: !asked.all, limit: watching.limit), .standard,
            options, cells)
    }
}

/// The command `storectl watch users`.
struct WatchUsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Watch known users; see query users.",
        discussion: """
            EXAMPLE:
              storectl watch users --json
            """)

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.users(limit: watching.limit), .standard, options) {
            [$0.id, $0.username, $0.isFollowed ? "followed" : nil]
        }
    }
}

/// The command `storectl watch follows`.
struct WatchFollowsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follows",
        abstract: "Watch a user's followers or the users whom the user follows; see query follows.",
        discussion: """
            EXAMPLE:
              storectl watch follows 7 --direction following
            """)

    @OptionGroup var subject: FollowOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .follows(
                of: subject.user, subject.direction.direction, limit: watching.limit),
            .standard, options
        ) { [$0.id, $0.state.rawValue, $0.username] }
    }
}
