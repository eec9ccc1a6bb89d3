internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query statistics`.
struct QueryStatisticsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statistics",
        abstract: "Show plays, watch time, completions and shares by day and provider.",
        discussion: """
            In a terminal, a bar chart shows the watch time of each day.

            EXAMPLE:
              storectl query statistics
              storectl query statistics --from 2012-05-01 --time-zone Europe/Berlin --json
            """)

    @Option(
        help: ArgumentHelp(
            "The first day (default: 13 days before the last day).", valueName: "date"))
    var from: String?

    @Option(help: ArgumentHelp("The last day (default: today).", valueName: "date"))
    var through: String?

    @Option(
        help: ArgumentHelp("The time zone that determines when a day begins.", valueName: "name"))
    var timeZone = "UTC"

    @OptionGroup var now: NowOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let projections = VideoProjections.standard
        let time = try now.time()
        let found = try options.query(projections, [projections.statistics]) {
            try $0.statistics(from: from, through: through, at: time, zone: timeZone)
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("day"), .number("plays"), .number("watched"), .number("finished"),
                .number("shares"), .number("videos"),
            ])
            func add(_ name: String, _ figures: StatisticsFigures) {
                table.add([
                    name, String(figures.plays), Self.time(figures.watchedSeconds),
                    String(figures.completions), String(figures.shares), String(figures.videos),
                ])
            }
            for day in found.days { add(day.date, day.figures) }
            for source in found.sources { add(source.source, source.figures) }
            add("all", found.total)
            text.table(table)
            guard text.isTerminal, found.total.watchedSeconds > 0 else { return }
            text.line()
            var plot = BarPlot()
            for day in found.days {
                plot.add(
                    day.date, day.figures.watchedSeconds, Self.time(day.figures.watchedSeconds))
            }
            for line in plot.lines(width: text.width) { text.line(line) }
            text.line(
                "\(Figures.count(found.sessions, "session")), the longest"
                    + " \(Self.time(found.longestSessionSeconds))")
        }
    }

    /// Formats a duration as `H:MM:SS`.
    private static func time(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded())
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(whole / 3_600):\(two(whole / 60 % 60)):\(two(whole % 60))"
    }
}
