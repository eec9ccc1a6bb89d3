internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// `storectl watch`.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print a list, and then what changes in it as it happens.",
        discussion: """
            Changes of other processes are told, too. The first lines are the list as it is; then + is an \
            entry that comes to stand at an index, - one that leaves it, > one that moves, and = one that is \
            another at its place. Each index is the one at its turn. It ends with Ctrl-C.

            What is no list of something that stands somewhere has no watch: show, user and extraction-plan \
            tell of what is named, as playability, playback, queue, extractions and downloads do of videos \
            that are; statistics sum up; news and schedule-changes compare with a position. A page behind \
            the first (--cursor, chat --before), a time of one's own (--now, --as-of) and the messages that \
            chat hides are asked for and not followed; users are followed by name as search --in users.

            Lines with ~ tell what else is to be known: loading, that tables are made first; failed, that \
            the list cannot be read, that it shows a key whose fold refused an event, or that a remote whose \
            facts it shows is waited for, and when that is tried again; current, that it is over. The list \
            stays what it is meanwhile.

            EXAMPLE:
              storectl watch list timeline
              storectl watch queue --json
            """,
        subcommands: [
            WatchListCommand.self, WatchQueueCommand.self, WatchPlaybackCommand.self,
            WatchSubmissionsCommand.self, WatchCommentsCommand.self, WatchChatCommand.self,
            WatchAnswersCommand.self, WatchQuestionsCommand.self, WatchUsersCommand.self,
            WatchFollowsCommand.self, WatchLikersCommand.self, WatchVideosCommand.self,
            WatchDuplicatesCommand.self, WatchLaterCommand.self, WatchSharesCommand.self,
            WatchRecipientsCommand.self, WatchAccountsCommand.self,
            WatchPlayabilityCommand.self, WatchExtractionsCommand.self,
            WatchNowPlayingCommand.self, WatchDownloadsCommand.self,
            WatchScheduleCommand.self, WatchOnNowCommand.self, WatchEndingSoonCommand.self,
            WatchSearchCommand.self,
        ])
}

/// `storectl watch list`.
struct WatchListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "A part of a group of videos, as in query list.",
        discussion: """
            EXAMPLE:
              storectl watch list watch-later
              storectl watch list timeline --playable --newest 300
              storectl watch list stream --from 40 --limit 20 --json
            """)

    @Argument(
        help: ArgumentHelp("The group.", valueName: "group"),
        transform: VideoGroup.init(argument:))
    var group: VideoGroup

    @OptionGroup var part: PartOptions
    @OptionGroup var parameters: ParameterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        let list: ArrangedList<GroupEntry, GroupEntry> = try .part(
            of: group, from: part.from, newest: part.newest, playableOnly: part.playable,
            limit: watching.limit, projections: parameters.projections)
        try watching.run(list, parameters.projections, options) { [$0.key, $0.sharer, $0.title] }
    }
}

/// `storectl watch queue`.
struct WatchQueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "What is to be played next, as in query queue.",
        discussion: """
            EXAMPLE:
              storectl watch queue
            """)

    @Option(help: ArgumentHelp("Which queue.", valueName: "name"))
    var queue = PlayQueue.defaultName

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.queue(queue, limit: watching.limit), .standard, options) {
            [$0.video, $0.at.description]
        }
    }
}

/// `storectl watch playback`.
struct WatchPlaybackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playback",
        abstract: "The videos in progress, as in query playback.",
        discussion: """
            EXAMPLE:
              storectl watch playback
            """)

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.inProgress(limit: watching.limit), .standard, options) {
            [$0.video, "\($0.resumeSeconds) s", $0.playedAt?.description]
        }
    }
}

/// `storectl watch submissions`.
struct WatchSubmissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submissions",
        abstract:
            "The videos that users have handed in and a remote lists, as in query submissions.",
        discussion: """
            EXAMPLE:
              storectl watch submissions --order new
            """)

    @Option(help: "By views, the most first, or by age, the last first.")
    var order = OrderArgument.popular

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .submissions(order: order.order, limit: watching.limit), .standard, options
        ) { [$0.key, $0.views.map { "\($0) views" }, $0.title] }
    }
}

/// How a list is followed, and how long it is.
struct WatchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many entries at the most, from the front.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @OptionGroup var following: FollowingOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be 1 or more") }
    }

    /// See `FollowingOptions.run`.
    func run<Entry: Encodable & Hashable & Sendable>(
        _ list: LiveList<Entry>, _ projections: VideoProjections, _ options: StoreOptions,
        _ cells: @escaping @Sendable (Entry) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, list, $1) }
    }

    /// The same of what is found by words.
    func run(
        _ search: LiveSearch, _ projections: VideoProjections, _ options: StoreOptions,
        _ cells: @escaping @Sendable (SearchHit) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, search, $1) }
    }

    /// The same of an arranged list.
    func run<Row, Entry: Encodable & Hashable & Sendable>(
        _ list: ArrangedList<Row, Entry>, _ projections: VideoProjections,
        _ options: StoreOptions, _ cells: @escaping @Sendable (Entry) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, list, $1) }
    }
}

/// How a list is followed.
struct FollowingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "End after so many updates, of which the list is the first; loading is none.",
            valueName: "n"))
    var updates: Int?

    func validate() throws {
        if let updates, updates < 1 { throw ValidationError("--updates must be 1 or more") }
    }

    /// Prints a list as it changes, until somebody stops it.
    ///
    /// - Parameters:
    ///   - cells: what is told of an entry in text.
    ///   - begin: begins to follow the list.
    func run<Entry: Encodable & Hashable & Sendable>(
        _ projections: VideoProjections, _ options: StoreOptions,
        _ cells: @escaping @Sendable (Entry) -> [String?],
        _ begin: (ProjectionRunner, RemoteWaits) -> LiveLoop<Entry>
    ) throws {
        Interruption.remember()
        try options.withStore(projections) { store in
            let loop = begin(store.projections, RemoteWaits(store.log))
            let lines = WatchLines(isJSON: options.json, cells)
            var left = updates ?? .max
            while left > 0, !Interruption.isRequested, !StandardOutput.isClosed {
                do {
                    let update = try loop.look {
                        Interruption.isRequested || StandardOutput.isClosed
                    } loading: {
                        // A reader that has gone away is noticed by the look.
                        try? lines.say($0)
                    }
                    if let update {
                        left -= 1
                        try lines.say(update)
                    }
                } catch is CancellationError {
                    break
                }
                if left > 0 {
                    usleep(UInt32(LiveLoop<Entry>.interval / .microseconds(1)))
                }
            }
        }
    }
}

extension VideoGroup {
    /// The group that an argument names.
    init(argument text: String) throws {
        guard let group = VideoGroup(text) else {
            throw ValidationError(
                "there is no group \"\(text)\"; known are "
                    + VideoGroup.named.map(\.name).joined(separator: ", ")
                    + ", dashboard/ID and roll/ID")
        }
        self = group
    }
}
