internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl watch`.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print a list, then each change as it happens.",
        discussion: """
            The first lines are the current list. Each later line is a change, including changes \
            by other processes: + inserts an entry at an index, - removes an entry, > moves an \
            entry, and = updates an entry. Apply the changes in order, because each index refers \
            to the list after the preceding changes. Stop with Ctrl-C.

            Lines that start with ~ report the state of the list; they do not change its \
            entries. The state "loading" means that the list's tables are being built. The state \
            "failed" means that the list cannot be read, contains a frozen key, or waits for a \
            remote. A "failed" line ends with the time of the next attempt, if known. The state \
            "current" means that no failure remains.

            These queries cannot be watched: show, user, extraction-plan, statistics, news and \
            schedule-changes. The queries playability, playback, queue, extractions and downloads \
            cannot be watched for named videos. Some options of queries are not available: \
            --cursor, --before, --now, --as-of, --budget and --blocked. To watch users by name, \
            use watch search --in users.

            EXAMPLE:
              storectl watch list timeline
              storectl watch queue --json
            """,
        subcommands: [
            WatchListCommand.self, WatchQueueCommand.self, WatchPlaybackCommand.self,
            WatchSubmissionsCommand.self, WatchCommentsCommand.self, WatchChatCommand.self,
            WatchAnswersCommand.self, WatchQuestionsCommand.self, WatchUsersCommand.self,
            WatchFollowsCommand.self, WatchLikersCommand.self, WatchVideosCommand.self,
            WatchDuplicatesCommand.self, WatchLaterCommand.self, WatchListsCommand.self,
            WatchSharesCommand.self, WatchRecipientsCommand.self, WatchAccountsCommand.self,
            WatchPlayabilityCommand.self, WatchExtractionsCommand.self,
            WatchNowPlayingCommand.self, WatchDownloadsCommand.self,
            WatchScheduleCommand.self, WatchOnNowCommand.self, WatchEndingSoonCommand.self,
            WatchSearchCommand.self,
        ])
}

/// The command `storectl watch list`.
struct WatchListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Watch a group of videos; see query list.",
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

/// The command `storectl watch queue`.
struct WatchQueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Watch the play queue; see query queue.",
        discussion: """
            EXAMPLE:
              storectl watch queue
            """)

    @Option(help: ArgumentHelp("The queue's name.", valueName: "name"))
    var queue = PlayQueue.defaultName

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(.queue(queue, limit: watching.limit), .standard, options) {
            [$0.video, $0.at.description]
        }
    }
}

/// The command `storectl watch playback`.
struct WatchPlaybackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playback",
        abstract: "Watch the videos in progress; see query playback.",
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

/// The command `storectl watch submissions`.
struct WatchSubmissionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submissions",
        abstract:
            "Watch the submitted videos that a remote lists; see query submissions.",
        discussion: """
            EXAMPLE:
              storectl watch submissions --order new
            """)

    @Option(help: "The order: popular (most views first) or new (newest first).")
    var order = OrderArgument.popular

    @OptionGroup var watching: WatchOptions
    @OptionGroup var options: StoreOptions

    func run() throws {
        try watching.run(
            .submissions(order: order.order, limit: watching.limit), .standard, options
        ) { [$0.key, $0.views.map { "\($0) views" }, $0.title] }
    }
}

/// The options that control how a list is watched and how many entries it has.
struct WatchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The maximum number of entries to watch, from the start of the list.", valueName: "n"))
    var limit = QueryLimits.pageCountDefault

    @OptionGroup var following: FollowingOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be 1 or more") }
    }

    /// Watches a list; see `FollowingOptions.run`.
    func run<Entry: Encodable & Hashable & Sendable>(
        _ list: LiveList<Entry>, _ projections: VideoProjections, _ options: StoreOptions,
        _ cells: @escaping @Sendable (Entry) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, list, $1) }
    }

    /// Watches the results of a search; see `FollowingOptions.run`.
    func run(
        _ search: LiveSearch, _ projections: VideoProjections, _ options: StoreOptions,
        _ cells: @escaping @Sendable (SearchHit) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, search, $1) }
    }

    /// Watches an arranged list; see `FollowingOptions.run`.
    func run<Row, Entry: Encodable & Hashable & Sendable>(
        _ list: ArrangedList<Row, Entry>, _ projections: VideoProjections,
        _ options: StoreOptions, _ cells: @escaping @Sendable (Entry) -> [String?]
    ) throws {
        try following.run(projections, options, cells) { LiveLoop($0, list, $1) }
    }
}

/// The options that control how a list is watched.
struct FollowingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Stop after this many updates. The initial list counts as an update; loading progress does not.",
            valueName: "n"))
    var updates: Int?

    func validate() throws {
        if let updates, updates < 1 { throw ValidationError("--updates must be 1 or more") }
    }

    /// Prints a list and its changes until a signal, a closed pipe or the `updates` limit ends the
    /// command.
    ///
    /// - Parameters:
    ///   - cells: Returns the columns of an entry in the text output.
    ///   - begin: Starts watching the list.
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
                        // A failed write is ignored, because `look` notices a closed pipe.
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
    /// Creates the group that an argument names.
    init(argument text: String) throws {
        guard let group = VideoGroup(text) else {
            throw ValidationError(
                "there is no group \"\(text)\"; the groups are "
                    + VideoGroup.named.map(\.name).joined(separator: ", ")
                    + ", dashboard/ID and roll/ID")
        }
        self = group
    }
}
