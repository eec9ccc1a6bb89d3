internal import ArgumentParser
internal import Tapedeck

/// The command `storectl watch schedule`.
struct WatchScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Watch the episodes of a week; see query schedule.",
        discussion: """
            Without --week, the list switches to the next week when that week begins.

            EXAMPLE:
              storectl watch schedule
              storectl watch schedule --week 2019-07-11 --json
            """)

    @Option(
        help: ArgumentHelp(
            "Watch the week that contains this date, YYYY-MM-DD (default: the current week).",
            valueName: "date"))
    var week: String?

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var following: FollowingOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let list: ArrangedList<ScheduleRow, DatedEpisode> =
            try .schedule(week: week, scope: channels.scope())
        try following.run(
            .standard, options,
            {
                [
                    $0.date,
                    $0.episode.timeKnown ? $0.episode.startsAt.description : "time unknown",
                ]
                    + $0.episode.names
            }
        ) { LiveLoop($0, list, $1) }
    }
}

/// The command `storectl watch on-now`.
struct WatchOnNowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "on-now",
        abstract: "Watch episodes as they begin and end; see query on-now.",
        discussion: """
            EXAMPLE:
              storectl watch on-now
              storectl watch on-now --country GB --json
            """)

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var following: FollowingOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let list: ArrangedList<ScheduleRow, ScheduleWeek.Episode> =
            .onNow(scope: try channels.scope())
        try following.run(.standard, options, \.cells) { LiveLoop($0, list, $1) }
    }
}

/// The command `storectl watch ending-soon`.
struct WatchEndingSoonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ending-soon",
        abstract: "Watch episodes that are about to end; see query ending-soon.",
        discussion: """
            EXAMPLE:
              storectl watch ending-soon --window 300
            """)

    @Option(
        help: ArgumentHelp(
            "List episodes that end within this many seconds.",
            valueName: "seconds"))
    var window = QueryLimits.endingSoonSeconds

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var following: FollowingOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let list: ArrangedList<ScheduleRow, ScheduleWeek.Episode> =
            try .endingSoon(scope: channels.scope(), windowSeconds: window)
        try following.run(.standard, options, \.cells) { LiveLoop($0, list, $1) }
    }
}

extension ScheduleWeek.Episode {
    fileprivate var cells: [String?] {
        [startsAt.description, endsAt?.description] + names
    }

    /// The network, show, number and name of the episode.
    fileprivate var names: [String?] {
        [network, show, ScheduleOptions.number(season: season, number: number), name]
    }
}
