internal import ArgumentParser
internal import Tapedeck

/// `storectl query news`.
struct QueryNewsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "news",
        abstract: "What has come in since a position of the log.",
        discussion: """
            Each answer says from which position to ask next time.

            EXAMPLE:
              storectl query news --since 0
              storectl query news --since 1200 --rule 2012 --newest 300 --json
            """)

    @Option(
        help: ArgumentHelp(
            "The head of the log when was looked last; 0 for all.", valueName: "position"))
    var since: UInt64

    @Option(help: "What counts: every share, or as the app of 2012 counted.")
    var rule = RuleArgument.default

    @Option(
        help: ArgumentHelp(
            "Only the so many broadcasts that were shared last are looked at.", valueName: "count"))
    var newest: Int?

    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = VideoProjections.standard
        let news = try options.withStore(projections) { store in
            try store.projections.read([projections.videos.name]) { views in
                try VideoQueries(views, projections: projections).news(
                    since: LogPosition(rawValue: since), in: store.log,
                    rule: rule == .of2012 ? .of2012 : .everyShare, newest: newest)
            }
        }
        try options.print(JSON(encoding: news)) { text in
            text.fields([("news", news.text ?? "none"), ("head", String(news.head))])
        }
    }
}
