internal import ArgumentParser

/// `storectl do`.
struct DoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "do",
        abstract: "Do something, if what is known allows it.",
        discussion: """
            As an app does it: each action looks at what is known, makes the events that follow, and \
            records them if nothing that it looked at has changed meanwhile. What is so already \
            records nothing. What is not allowed is refused, with the reason, and records nothing, \
            either. storectl append records events without looking.

            EXAMPLE:
              storectl do share youtube:aqz-KE-bpKQ --to twitter
              storectl do queue add vimeo:1084537 --json
            """,
        subcommands: [
            DoShareCommand.self, DoSubmitCommand.self, DoOpenCommand.self, DoChatCommand.self,
            DoAskCommand.self, DoAnswerCommand.self, DoLikeCommand.self, DoCommentCommand.self,
            DoFollowCommand.self, DoProfileCommand.self, DoQueueCommand.self,
            DoHandOffCommand.self, DoPlayabilityCommand.self, DoFailExtractionCommand.self,
            DoRemoveDownloadsCommand.self,
        ])
}
