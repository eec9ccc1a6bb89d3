internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query schedule`.
struct QueryScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "List the episodes of a week, Monday to Sunday.",
        discussion: """
            Days are calendar days in each channel's time zone, or in UTC if the time zone is \
            unknown. Without --week, the command lists the week that contains --now. If the \
            selected channels are in several time zones, the zone with the most episodes \
            determines when that week begins.

            EXAMPLE:
              storectl query schedule --week 2019-07-11
              storectl query schedule --week 2019-07-11 --filter nbc
              storectl query schedule --week 2020-12-10 --web --json
            """)

    @Option(
        help: ArgumentHelp(
            "Show the week that contains this date, YYYY-MM-DD (default: the current week).",
            valueName: "date"))
    var week: String?

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var now: NowOptions
    @OptionGroup var options: QueryOptions

    func validate() throws {
        guard week == nil || now.now == nil else {
            throw ValidationError("--week and --now cannot be combined")
        }
    }

    func run() throws {
        let scope = try channels.scope()
        let time = try now.time()
        if let week, CalendarDay(week) == nil {
            throw CommandError(
                .invalidTime, "--week: \"\(week.prefix(40))\" is not a date",
                hint: "use the format YYYY-MM-DD, such as 2019-07-11")
        }
        let projections = VideoProjections.standard
        let schedule = try options.query(projections, projections.ofSchedules) {
            if let week { return try $0.schedule(week: week, scope: scope) }
            return try $0.schedule(at: time, scope: scope)
        }
        try options.print(JSON(encoding: schedule)) { text in
            var table = TextTable([
                .text("day"), .moment("starts"), .number("min"), .text("network"), .long("show"),
                .text("episode"), .long("name"),
            ])
            for day in schedule.days {
                for episode in day.episodes {
                    table.add([
                        day.date,
                        episode.timeKnown ? episode.startsAt.description : "time unknown",
                        episode.runtimeMinutes.map(String.init), episode.network, episode.show,
                        ScheduleOptions.number(season: episode.season, number: episode.number),
                        episode.name,
                    ])
                }
            }
            text.table(table)
        }
    }
}
