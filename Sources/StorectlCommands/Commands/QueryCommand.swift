internal import ArgumentParser

/// `storectl query`.
struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Print lists: videos, watch-later, comments, answers, a show, a week's schedule.",
        discussion: """
            Each list sees every event that was recorded before.

            EXAMPLE:
              storectl query videos --limit 10
              storectl query schedule --week 2019-07-11 --json
            """,
        subcommands: [
            QueryVideosCommand.self, QueryDuplicatesCommand.self, QueryWatchLaterCommand.self,
            QueryCommentsCommand.self, QueryAnswersCommand.self, QueryShowCommand.self,
            QueryScheduleCommand.self,
            QueryPlayabilityCommand.self, QueryExtractionsCommand.self,
            QueryExtractionPlanCommand.self, QueryPlaybackCommand.self,
            QueryNowPlayingCommand.self, QueryQueueCommand.self,
            QueryDownloadsCommand.self,
        ])
}
