internal import ArgumentParser

/// The command `storectl do`.
struct DoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "do",
        abstract: "Perform a user action, if the current state allows it.",
        discussion: """
            Each action reads the current state, decides on events, and appends them only if that state \
            is still current. An action that would change nothing appends nothing. A refused action \
            appends nothing and reports why. storectl append skips these checks.

            EXAMPLE:
              storectl do watch-later youtube:aqz-KE-bpKQ
              storectl do queue add vimeo:1084537 --json
            """,
        subcommands: [
            DoWatchLaterCommand.self, DoLikeCommand.self, DoCommentCommand.self,
            DoShareCommand.self, DoSubmitCommand.self, DoOpenCommand.self, DoChatCommand.self,
            DoAskCommand.self, DoAnswerCommand.self,
            DoFollowCommand.self, DoProfileCommand.self, DoContactCommand.self,
            DoVisitCommand.self, DoQueueCommand.self, DoHandOffCommand.self, DoCheckCommand.self,
            DoPlayabilityCommand.self, DoFailExtractionCommand.self, DoRemoveDownloadsCommand.self,
        ])
}
