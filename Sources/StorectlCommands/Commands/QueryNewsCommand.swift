internal import ArgumentParser
internal import Tapedeck

/// `storectl query news`.
struct QueryNewsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "news",
        abstract: "Count new videos and comments since a log position.",
        discussion: """
            Each report contains the position to pass to --since next time. With --rule 2012, \
            unplayable videos are not counted.

            EXAMPLE:
              storectl query news --since 0
              storectl query news --since 1200 --rule 2012 --newest 300 --json
            """)

    @Option(
        help: ArgumentHelp(
            "The log position at your last check; 0 for everything.", valueName: "position"))
    var since: UInt64

    @Option(help: "The counting rule: count every share, or use the 2012 app's rule.")
    var rule = RuleArgument.default

    @Option(
        help: ArgumentHelp(
            "Count only the N most recent broadcasts.", valueName: "count"))
    var newest: Int?

    @OptionGroup var now: NowOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let time = try now.time()
        let is2012 = rule == .of2012
        let projections = VideoProjections.standard
        var wanted: [any Projection] = [projections.videos]
        if is2012 { wanted.append(projections.playability) }
        let news = try options.withStore(projections) { store in
            try store.projections.read(wanted.map(\.name)) { views in
                let queries = VideoQueries(views, projections: projections)
                return try queries.news(
                    since: LogPosition(rawValue: since), in: store.log,
                    rule: is2012 ? .of2012 : .everyShare, newest: newest
                ) { video in
                    guard is2012 else { return true }
                    return try queries.playability(of: video.text, at: time).state != .unplayable
                }
            }
        }
        try options.print(JSON(encoding: news)) { text in
            text.fields([("news", news.text ?? "none"), ("head", String(news.head))])
        }
    }
}
