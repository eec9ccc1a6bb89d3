internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query chat`.
struct QueryChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Show the latest messages in a video's chat, oldest first.",
        discussion: """
            Your own messages that no remote shows yet come last.

            EXAMPLE:
              storectl query chat youtube:aqz-KE-bpKQ
              storectl query chat youtube:aqz-KE-bpKQ --before 2016-03-01T12:00:00Z --json
              storectl query chat youtube:aqz-KE-bpKQ --guest
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(help: ArgumentHelp("Show only messages sent before this time.", valueName: "time"))
    var before: String?

    @Flag(help: "Include blocked messages.")
    var blocked = false

    @Flag(help: "Read as a guest, without signing in.")
    var guest = false

    @OptionGroup var page: PageOptions
    @OptionGroup var options: QueryOptions

    func validate() throws {
        guard before == nil || page.cursor == nil else {
            throw ValidationError("--before and --cursor cannot be combined")
        }
    }

    func run() throws {
        // Rejects invalid arguments before the store is opened.
        _ = try VideoKey(video)
        let time = try before.map { try TimeArgument.milliseconds($0, "--before") }
        let projections = VideoProjections.standard
        let found = try options.query(projections, [projections.chat, projections.accounts]) {
            try $0.chat(
                video: video, before: time, isWithBlocked: blocked, isGuestAllowed: guest,
                limit: page.limit, cursor: page.cursor)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .time("at"), .text("by"), .state("state"), .text("kind"), .long("text"),
                .text("id"),
            ])
            for message in found.messages {
                table.add([
                    message.at.description, message.sender?.name ?? message.sender?.id,
                    message.state.rawValue, message.kind, message.text ?? message.file?.name,
                    message.id,
                ])
            }
            text.table(table)
            page.remark(next: found.next, &text, saying: "there are older messages")
        }
    }
}
