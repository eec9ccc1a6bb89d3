internal import ArgumentParser

/// The command `storectl query`.
struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Query lists of videos, comments, answers, shows, chats and more.",
        discussion: """
            A query sees every event appended before it.

            EXAMPLE:
              storectl query videos --limit 10
              storectl query schedule --week 2019-07-11 --json
            """,
        subcommands: [
            QueryVideosCommand.self, QueryVideoCommand.self, QueryDuplicatesCommand.self,
            QueryWatchLaterCommand.self,
            QueryCommentsCommand.self, QueryAnswersCommand.self, QueryShowCommand.self,
            QueryScheduleCommand.self, QueryOnNowCommand.self, QueryEndingSoonCommand.self,
            QueryScheduleChangesCommand.self, QueryNewsCommand.self,
            QuerySubmissionsCommand.self, QueryChatCommand.self, QueryAccountsCommand.self,
            QueryPlayabilityCommand.self, QueryExtractionsCommand.self,
            QueryExtractionPlanCommand.self, QueryPlaybackCommand.self,
            QueryNowPlayingCommand.self, QueryQueueCommand.self,
            QueryDownloadsCommand.self, QueryListCommand.self, QueryListsCommand.self,
            QuerySharesCommand.self,
            QueryShareTextCommand.self, QueryRecipientsCommand.self,
            QueryStatisticsCommand.self,
            QueryQuestionsCommand.self, QueryLikersCommand.self,
            QueryUsersCommand.self, QueryUserCommand.self, QueryFollowsCommand.self,
            QuerySearchCommand.self,
        ])
}
