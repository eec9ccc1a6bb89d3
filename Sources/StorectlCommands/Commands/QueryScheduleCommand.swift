internal import ArgumentParser
internal import Tapedeck

/// `storectl query schedule`.
struct QueryScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "The episodes of a week, Monday to Sunday.",
        discussion: """
            A day is the calendar day in the zone of the channel; a channel without a country \
            counts by UTC.

            EXAMPLE:
              storectl query schedule --week 2019-07-11
              storectl query schedule --week 2020-12-10 --web --json
            """)

    @Option(help: ArgumentHelp("Any day of the week, YYYY-MM-DD.", valueName: "date"))
    var week: String

    @Option(
        help: ArgumentHelp(
            "The channels' country by ISO 3166 (default: US; with --web any).", valueName: "code"))
    var country: String?

    @Flag(help: "Web channels only.")
    var web = false

    @Flag(help: "The country's web channels too.")
    var includeWeb = false

    @OptionGroup var options: StoreOptions

    func run() throws {
        let scope = try ScheduleScope(country: country, web: web, includeWeb: includeWeb)
        guard CalendarDay(week) != nil else {
            throw CommandError(
                .invalidTime, "--week: \"\(week.prefix(40))\" is not a day",
                hint: "write YYYY-MM-DD, such as 2019-07-11")
        }
        let projections = VideoProjections.standard
        let schedule = try options.query(
            projections, [projections.schedule, projections.shows]
        ) { try $0.schedule(week: week, scope: scope) }
        try options.print(JSON(encoding: schedule)) { text in
            var table = TextTable([
                .text("day"), .text("starts"), .number("min"), .text("network"), .long("show"),
                .text("episode"), .long("name"),
            ])
            for day in schedule.days {
                for episode in day.episodes {
                    table.add([
                        day.date,
                        episode.timeKnown ? episode.startsAt.description : "time not known",
                        episode.runtimeMinutes.map(String.init), episode.network, episode.show,
                        QueryScheduleCommand.number(episode), episode.name,
                    ])
                }
            }
            text.table(table)
        }
    }

    /// `S01E02`, or `S01` for a special.
    private static func number(_ episode: ScheduleWeek.Episode) -> String {
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let season = episode.season.map { "S\(two($0))" } ?? ""
        return season + (episode.number.map { "E\(two($0))" } ?? "")
    }
}
