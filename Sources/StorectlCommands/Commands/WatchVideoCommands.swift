internal import ArgumentParser
internal import Tapedeck

/// `storectl watch likers`.
struct WatchLikersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "likers",
        abstract: "Who likes an answer, as in query likers.",
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

/// `storectl watch videos`.
struct WatchVideosCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "videos",
        abstract: "The videos that were shared, as in query videos.",
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

/// `storectl watch duplicates`.
struct WatchDuplicatesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "The videos that were shared more than once, as in query duplicates.",
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

/// `storectl watch watch-later`.
struct WatchLaterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch-later",
        abstract: "The videos to be seen later, as in query watch-later.",
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

/// `storectl watch shares`.
struct WatchSharesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares",
        abstract: "What you have shared, as in query shares.",
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

/// `storectl watch recipients`.
struct WatchRecipientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipients",
        abstract: "To whom you have sent videos lately, as in query recipients.",
        discussion: """
            EXAMPLE:
              storectl watch recipients ad
            """)

    @Argument(help: "How the address begins.")
    var prefix = ""

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .recipients(prefix: prefix, limit: watching.limit), .standard, options
        ) { [$0.address, $0.lastAt.description, String($0.shares)] }
    }
}

/// `storectl watch accounts`.
struct WatchAccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Your accounts at remote systems, as in query accounts.",
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

/// `storectl watch playability`.
struct WatchPlayabilityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playability",
        abstract: "Whether videos can be played, as the time is, as in query playability.",
        discussion: """
            EXAMPLE:
              storectl watch playability --state due
            """)

    @Option(help: "The list of those in this state.")
    var state = StateArgument.all

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .playability(state.filter, limit: watching.limit), .standard, options
        ) { [$0.video, $0.state.rawValue, $0.reason, $0.due ? "due" : nil] }
    }
}

/// `storectl watch extractions`.
struct WatchExtractionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extractions",
        abstract: "The videos whose last extraction has failed, as in query extractions.",
        discussion: """
            EXAMPLE:
              storectl watch extractions --window 600
            """)

    @Option(
        help: ArgumentHelp(
            "How long an address is good for that does not say so itself.", valueName: "seconds"))
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

/// `storectl watch now-playing`.
struct WatchNowPlayingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "now-playing",
        abstract: "What each device plays, as in query now-playing.",
        discussion: """
            Each word of a device is told; where it is by now follows from that.

            EXAMPLE:
              storectl watch now-playing
              storectl watch now-playing youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "The devices that have this video only: its key, provider:id, or any URL.")
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
            [$0.device, $0.video, $0.playing ? "plays" : "pauses", "\($0.positionSeconds) s"]
        }
    }
}

/// `storectl watch downloads`.
struct WatchDownloadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "What lies on a device's disk, as in query downloads.",
        discussion: """
            EXAMPLE:
              storectl watch downloads --device tablet
            """)

    @Option(help: ArgumentHelp("Which device.", valueName: "name"))
    var device = Downloads.defaultDevice

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            try .downloads(device: device, limit: watching.limit), .standard, options
        ) { [$0.video, "\($0.bytes) bytes", $0.watched ? "watched" : nil] }
    }
}
