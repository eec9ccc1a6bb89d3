internal import ArgumentParser
internal import Tapedeck

/// The command `storectl watch likers`.
struct WatchLikersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "likers",
        abstract: "Watch the users who like an answer; see query likers.",
        discussion: """
            EXAMPLE:
              storectl watch likers 4711
            """)

    @Argument(help: ArgumentHelp("The answer's id.", valueName: "id"))
    var answer: String

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .likers(of: answer, limit: watching.limit), .standard, options
        ) { [$0.user, $0.state.rawValue, $0.username] }
    }
}

/// The command `storectl watch videos`.
struct WatchVideosCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "videos",
        abstract: "Watch shared videos; see query videos.",
        discussion: """
            EXAMPLE:
              storectl watch videos --limit 10
            """)

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        try watching.run(
            .videos(limit: watching.limit, projections: projections), projections, options
        ) { [$0.key, $0.sharer, Figures.count($0.commentCount, "comment"), $0.title] }
    }
}

/// The command `storectl watch duplicates`.
struct WatchDuplicatesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "Watch videos shared more than once; see query duplicates.",
        discussion: """
            EXAMPLE:
              storectl watch duplicates --winner newest
            """)

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        try watching.run(
            .duplicates(limit: watching.limit, projections: projections), projections, options
        ) { [$0.key, $0.winner, "\($0.broadcastCount) broadcasts"] }
    }
}

/// The command `storectl watch watch-later`.
struct WatchLaterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch-later",
        abstract: "Watch the watch-later list; see query watch-later.",
        discussion: """
            EXAMPLE:
              storectl watch watch-later --rule 2012
            """)

    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let projections = parameters.projections
        try watching.run(
            .watchLater(limit: watching.limit, projections: projections), projections, options
        ) { [$0.key, $0.since.description] }
    }
}

/// The command `storectl watch lists`.
struct WatchListsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lists",
        abstract: "Watch the rolls and dashboards that remotes keep; see query lists.",
        discussion: """
            EXAMPLE:
              storectl watch lists
            """)

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.lists(limit: watching.limit), .standard, options, \.cells)
    }
}

/// The command `storectl watch shares`.
struct WatchSharesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares",
        abstract: "Watch what you share; see query shares.",
        discussion: """
            EXAMPLE:
              storectl watch shares
            """)

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.shares(limit: watching.limit), .standard, options) {
            [$0.at.description, $0.video, $0.destinations.joined(separator: ", "), $0.text]
        }
    }
}

/// The command `storectl watch recipients`.
struct WatchRecipientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipients",
        abstract: "Watch recipients; see query recipients.",
        discussion: """
            EXAMPLE:
              storectl watch recipients ad
            """)

    @Argument(
        help: """
            List only recipients whose address starts with this prefix, or whose name contains a \
            word that starts with it.
            """)
    var prefix = ""

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .recipients(prefix: prefix, limit: watching.limit), .standard, options
        ) { [$0.address, $0.name ?? "", $0.lastAt?.description ?? "", String($0.shares)] }
    }
}

/// The command `storectl watch accounts`.
struct WatchAccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Watch your accounts; see query accounts.",
        discussion: """
            EXAMPLE:
              storectl watch accounts --json
            """)

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.accounts(limit: watching.limit), .standard, options) {
            [$0.system, $0.account, $0.nickname, $0.isSignedIn ? "signed in" : "signed out"]
        }
    }
}

/// The command `storectl watch playability`.
struct WatchPlayabilityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playability",
        abstract: "Watch the playability of videos; see query playability.",
        discussion: """
            EXAMPLE:
              storectl watch playability --state due
            """)

    @Option(help: "List only videos in this state.")
    var state = StateArgument.all

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .playability(state.filter, limit: watching.limit), .standard, options
        ) { [$0.video, $0.state.rawValue, $0.reason, $0.due ? "due" : nil] }
    }
}

/// The command `storectl watch extractions`.
struct WatchExtractionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extractions",
        abstract: "Watch failed extractions; see query extractions.",
        discussion: """
            EXAMPLE:
              storectl watch extractions --window 600
            """)

    @Option(
        help: ArgumentHelp(
            "The number of seconds for which a content URL without an expiry time is valid.",
            valueName: "seconds"))
    var window = QueryLimits.extractionWindowSeconds

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .failedExtractions(windowSeconds: window, limit: watching.limit), .standard,
            options
        ) { [$0.video, $0.state.rawValue, $0.reason, $0.nextTryAt?.description] }
    }
}

/// The command `storectl watch now-playing`.
struct WatchNowPlayingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "now-playing",
        abstract: "Watch what each device is playing; see query now-playing.",
        discussion: """
            Every report from a device is printed. To show the current position, compute it from \
            the latest report.

            EXAMPLE:
              storectl watch now-playing
              storectl watch now-playing youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "List only devices on which this video, given as a key or URL, is loaded.")
    var video: String?

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let list: LiveList<NowPlayingEntry> =
            if let video {
                try .nowPlaying(video: video, limit: watching.limit)
            } else {
                .nowPlaying(limit: watching.limit)
            }
        try watching.run(list, .standard, options) {
            [$0.device, $0.video, $0.playing ? "playing" : "paused", "\($0.positionSeconds) s"]
        }
    }
}

/// The command `storectl watch downloads`.
struct WatchDownloadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "Watch a device's downloads; see query downloads.",
        discussion: """
            EXAMPLE:
              storectl watch downloads --device tablet
            """)

    @Option(help: ArgumentHelp("The device's name.", valueName: "name"))
    var device = Downloads.defaultDevice

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .downloads(device: device, limit: watching.limit), .standard, options
        ) { [$0.video, "\($0.bytes) bytes", $0.watched ? "watched" : nil] }
    }
}
