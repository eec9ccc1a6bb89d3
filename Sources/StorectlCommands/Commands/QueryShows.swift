internal import ArgumentParser
internal import Tapedeck

/// `storectl query show`.
struct QueryShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "A show with its episodes and its cast.",
        discussion: """
            EXAMPLE:
              storectl query show 118
            """)

    @Argument(help: ArgumentHelp("TVmaze's id of the show.", valueName: "id"))
    var id: Int64

    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = VideoProjections.standard
        let show = try options.query(projections, [projections.shows, projections.schedule]) {
            try $0.show(id)
        }
        try options.print(JSON(encoding: show)) { text in
            text.fields([
                ("name", show.name ?? "-"), ("network", show.network ?? "-"),
                ("genres", show.genres.joined(separator: ", ")),
                ("runtime", show.runtimeMinutes.map { "\($0) min" } ?? "-"),
                ("image", show.image ?? "-"), ("summary", show.summary ?? "-"),
            ])
            if !show.episodes.isEmpty {
                var table = TextTable([
                    .number("season"), .number("number"), .text("starts"), .long("episode"),
                    .text("id"),
                ])
                for episode in show.episodes {
                    table.add([
                        episode.season.map(String.init), episode.number.map(String.init),
                        episode.startsAt?.description, episode.name, String(episode.id),
                    ])
                }
                text.line()
                text.table(table)
            }
            if !show.cast.isEmpty {
                var table = TextTable([.text("person"), .text("character")])
                for member in show.cast { table.add([member.person, member.character]) }
                text.line()
                text.table(table)
            }
        }
    }
}

/// `storectl query schedule`.
struct QueryScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "The episodes of a week, Monday to Sunday.",
        discussion: """
            A day is the calendar day in the zone of the channel; a channel without a country counts \
            by UTC.

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
