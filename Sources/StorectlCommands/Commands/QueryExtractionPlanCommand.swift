internal import ArgumentParser
internal import Tapedeck

/// The command `storectl query extraction-plan`.
struct QueryExtractionPlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extraction-plan",
        abstract: "Show which videos of a playlist to extract now.",
        discussion: """
            EXAMPLE:
              storectl query extraction-plan vimeo:1084537 youtube:aqz-KE-bpKQ
              storectl query extraction-plan vimeo:1 vimeo:2 --current 1 --json
            """)

    @Argument(help: "The videos in playback order: keys or URLs.")
    var videos: [String]

    @Option(help: ArgumentHelp("The index of the current video, starting at 0.", valueName: "n"))
    var current = 0

    @Option(
        help: """
            The kind of device, which determines how many videos to plan ahead: phone 1, tablet 2, \
            television 5.
            """)
    var kind = DeviceKindArgument.phone

    @Option(
        help: ArgumentHelp(
            "The device whose downloads are taken into account.", valueName: "name"))
    var device = Downloads.defaultDevice

    @Option(help: "The network state to plan for (default: the state that storectl network shows).")
    var network: NetworkArgument?

    @Option(help: ArgumentHelp("The video that is being extracted.", valueName: "video"))
    var running: String?

    @Option(
        help: ArgumentHelp(
            "The time at which the --running extraction started.", valueName: "time"))
    var since: String?

    @Option(
        help: ArgumentHelp(
            "The number of seconds for which a content URL without an expiry time is valid.",
            valueName: "seconds"))
    var window = QueryLimits.extractionWindowSeconds

    @OptionGroup var now: NowOptions
    @OptionGroup var options: QueryOptions

    func validate() throws {
        guard (running == nil) == (since == nil) else {
            throw ValidationError("--running and --since must be given together")
        }
    }

    func run() throws {
        let time = try now.time()
        let list = try videos.map { try VideoKey($0) }
        let job = try running.map {
            ExtractionPolicy.Running(
                try VideoKey($0),
                since: UTCTime(milliseconds: try TimeArgument.milliseconds(since ?? "", "--since")))
        }
        let projections = VideoProjections.standard
        let policy = ExtractionPolicy(
            aheadCount: kind.deviceKind.aheadCount,
            network: try network?.state
                ?? options.store.withLog(isReading: true) {
                    try NetworkState.current(in: $0)
                })
        let found = try options.query(
            projections, [projections.extractions, projections.downloads]
        ) {
            ExtractionPlanReport(
                try $0.extractionPlan(
                    list, current: current, running: job,
                    policy: policy, device: device, at: time, windowSeconds: window))
        }
        try options.print(JSON(encoding: found)) { text in
            var table = TextTable([
                .text("video"), .text("action"), .text("reason"), .time("until"), .text("failure"),
            ])
            if let cancel = found.cancel {
                table.add([cancel.video, "cancel", cancel.reason.rawValue, nil, nil])
            }
            if let video = found.continuing ?? found.run {
                table.add([
                    video, found.run == nil ? "continue" : "run", nil,
                    found.timesOutAt?.description, nil,
                ])
            }
            for video in found.waiting { table.add([video, "wait", nil, nil, nil]) }
            for skip in found.skipped {
                table.add([
                    skip.video, "skip", skip.reason.rawValue, skip.until?.description,
                    skip.failure,
                ])
            }
            text.table(table)
        }
    }
}

/// The kind of device: `phone`, `tablet` or `television`.
enum DeviceKindArgument: String, ExpressibleByArgument, CaseIterable {
    case phone, tablet, television

    var deviceKind: ExtractionPolicy.DeviceKind {
        ExtractionPolicy.DeviceKind(rawValue: rawValue) ?? .phone
    }
}
