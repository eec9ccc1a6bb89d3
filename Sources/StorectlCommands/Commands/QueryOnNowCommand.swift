internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query on-now`.
struct QueryOnNowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "on-now",
        abstract: "List the episodes that are on now, earliest start first.",
        discussion: """
            Episodes whose start time or length is unknown are not listed.

            EXAMPLE:
              storectl query on-now
              storectl query on-now --now 2019-07-11T20:15:00-04:00 --json
            """)

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var now: NowOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let scope = try channels.scope()
        let time = try now.time()
        let projections = VideoProjections.standard
        let found = try options.query(projections, projections.ofSchedules) {
            try $0.onNow(at: time, scope: scope)
        }
        try options.print(JSON(encoding: found)) { $0.table(found.table) }
    }
}

/// The command `storectl query ending-soon`.
struct QueryEndingSoonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ending-soon",
        abstract: "List the episodes that end soon, earliest end first.",
        discussion: """
            EXAMPLE:
              storectl query ending-soon
              storectl query ending-soon --window 300 --include-web --json
            """)

    @Option(
        help: ArgumentHelp(
            "List episodes that end within this many seconds.",
            valueName: "seconds"))
    var window = QueryLimits.endingSoonSeconds

    @OptionGroup var channels: ScheduleOptions
    @OptionGroup var now: NowOptions
    @OptionGroup var options: QueryOptions

    func run() throws {
        let scope = try channels.scope()
        let time = try now.time()
        let projections = VideoProjections.standard
        let found = try options.query(projections, projections.ofSchedules) {
            try $0.endingSoon(at: time, scope: scope, windowSeconds: window)
        }
        try options.print(JSON(encoding: found)) { $0.table(found.table) }
    }
}

extension ScheduleNow {
    fileprivate var table: TextTable {
        var table = TextTable([
            .moment("starts"), .moment("ends"), .text("network"), .long("show"), .text("episode"),
            .long("name"),
        ])
        for episode in episodes {
            table.add([
                episode.startsAt.description, episode.endsAt?.description, episode.network,
                episode.show,
                ScheduleOptions.number(season: episode.season, number: episode.number),
                episode.name,
            ])
        }
        return table
    }
}
