internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query schedule-changes`.
struct QueryScheduleChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule-changes",
        abstract: "List schedule changes after a log position.",
        discussion: """
            The report lists episodes that were added, rescheduled, cancelled (missing from a \
            complete listing, see storectl ingest --date) or changed in other details. It also \
            contains the position to pass to --after next time.

            EXAMPLE:
              storectl query schedule-changes --after 0
              storectl query schedule-changes --after 1200 --limit 500 --json
            """)

    @Option(
        help: ArgumentHelp(
            "The \"head\" value of the previous report; 0 for all changes.", valueName: "position"))
    var after: UInt64

    @Option(
        help: ArgumentHelp(
            "Stop after this many episodes and shows, 1 to 500.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = VideoProjections.standard
        let changes = try options.withStore(projections) { store in
            try store.projections.read(projections.ofSchedules.map(\.name)) { views in
                try VideoQueries(views, projections: projections).scheduleChanges(
                    since: LogPosition(rawValue: after), in: store.log, limit: limit)
            }
        }
        try options.print(JSON(encoding: changes)) { text in
            var table = TextTable([
                .text("change"), .moment("from"), .moment("to"), .text("network"), .long("show"),
                .text("episode"), .long("name"), .text("fields"),
            ])
            for episode in changes.episodes {
                table.add([
                    episode.change.rawValue, episode.from?.description, episode.to?.description,
                    episode.network, episode.show,
                    ScheduleOptions.number(season: episode.season, number: episode.number),
                    episode.name, episode.fields.joined(separator: ","),
                ])
            }
            for show in changes.shows {
                table.add([
                    "show", nil, nil, nil, show.name, nil, nil,
                    show.fields.joined(separator: ","),
                ])
            }
            text.table(table)
            if changes.more {
                text.more(
                    "there is more: --after \(changes.head)",
                    isLimitSet: limit != QueryLimits.pageCountDefault)
            }
        }
    }
}
