internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query news`.
struct QueryNewsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "news",
        abstract: "Count the videos and comments that are new since you last looked.",
        discussion: """
            Without --since, counts from the position at which --seen was last used on this \
            device. With --rule 2012, only videos that are known to be playable are counted.

            EXAMPLE:
              storectl query news
              storectl query news --seen
              storectl query news --since 1200 --rule 2012 --newest 300 --json
            """)

    @Option(
        help: ArgumentHelp(
            """
            Count from this log position instead of the one last marked with --seen; 0 for \
            everything.
            """,
            valueName: "position"))
    var since: UInt64?

    @Flag(help: "Mark the news as seen on this device.")
    var seen = false

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
            let news = try store.projections.read(wanted.map(\.name)) { views in
                let queries = VideoQueries(views, projections: projections)
                let mark = try since.map(LogPosition.init) ?? NewsMark.read(in: store.log)
                return try queries.news(
                    since: mark, in: store.log,
                    rule: is2012 ? .of2012 : .everyShare, newest: newest
                ) { video in
                    try !is2012 || queries.isPlayable(video, at: time)
                }
            }
            if seen { try NewsMark.set(LogPosition(rawValue: news.head), in: store.log) }
            return news
        }
        try options.print(JSON(encoding: news)) { text in
            text.fields([("news", news.text ?? "none"), ("head", String(news.head))])
        }
    }
}

extension VideoQueries {
    /// Returns whether a video is known to be playable, according to a check or to the rule of the
    /// 2012 app.
    fileprivate func isPlayable(_ video: VideoKey, at now: UTCTime) throws -> Bool {
        switch try playability(of: video.text, at: now).state {
        case .playable: true
        case .unplayable: false
        case .unknown, .failed:
            ProviderRule.shelby2012.judge(video) == .finding(.playable)
        }
    }
}
