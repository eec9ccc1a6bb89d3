internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// The command `storectl do open`.
struct DoOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Record that a viewer opened a video, which counts as a view.",
        discussion: """
            A viewing is counted once, even if it is recorded again under the same name.

            EXAMPLE:
              storectl do open youtube:aqz-KE-bpKQ --viewer guest
              storectl do open youtube:aqz-KE-bpKQ --viewer me --viewing v-1 --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(help: "The viewer: an account, or a name for a guest.")
    var viewer: String

    @Option(
        help: ArgumentHelp(
            "A name for this viewing, which must never be reused (default: a new name).",
            valueName: "name"))
    var viewing: String?

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let open = try OpenVideo(video, viewer: viewer, viewing: viewing ?? UUID().uuidString)
        try await options.decide([VideoProjections.standard.viewCounts]) { try open.decide($0) }
    }
}

/// The command `storectl do watch-later`.
struct DoWatchLaterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch-later",
        abstract: "Add a video to the watch-later list, or remove it.",
        discussion: """
            EXAMPLE:
              storectl do watch-later youtube:aqz-KE-bpKQ
              storectl do watch-later youtube:aqz-KE-bpKQ --off --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Flag(help: "Remove the video from the list.")
    var off = false

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let mark = try MarkWatchLater(video, isOn: !off)
        let projections = VideoProjections.standard
        try await options.decide([projections.watchLater, projections.accounts]) {
            try mark.decide($0)
        }
    }
}

/// The command `storectl do queue`.
struct DoQueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Edit the play queue.",
        discussion: """
            EXAMPLE:
              storectl do queue add vimeo:1084537
              storectl do queue next vimeo:1084537 --after youtube:aqz-KE-bpKQ
            """,
        subcommands: [
            DoQueueAddCommand.self, DoQueueNextCommand.self, DoQueueRemoveCommand.self,
            DoQueueClearCommand.self,
        ])
}

/// The command `storectl do queue add`.
struct DoQueueAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a video to the end of the queue.",
        discussion: """
            EXAMPLE:
              storectl do queue add vimeo:1084537
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.append(VideoKey(video))) }
}

/// The command `storectl do queue next`.
struct DoQueueNextCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "next",
        abstract: "Insert a video at the front or after another video; a queued video is moved.",
        discussion: """
            EXAMPLE:
              storectl do queue next vimeo:1084537
              storectl do queue next vimeo:1084537 --after youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Option(
        help: ArgumentHelp(
            "Insert after this video, such as the current video (default: at the front).",
            valueName: "video"))
    var after: String?

    @OptionGroup var queue: QueueOptions

    func run() async throws {
        try await queue.edit(.playNext(VideoKey(video), after: after.map { try VideoKey($0) }))
    }
}

/// The command `storectl do queue remove`.
struct DoQueueRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a video from the queue.",
        discussion: """
            EXAMPLE:
              storectl do queue remove vimeo:1084537
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.remove(VideoKey(video))) }
}

/// The command `storectl do queue clear`.
struct DoQueueClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove all videos from the queue.",
        discussion: """
            EXAMPLE:
              storectl do queue clear
              storectl do queue clear --queue kitchen --json
            """)

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.clear) }
}

/// The options of the commands that edit a play queue.
struct QueueOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The queue's name.", valueName: "name"))
    var queue = PlayQueue.defaultName

    @OptionGroup var options: StoreOptions

    fileprivate func edit(_ edit: EditQueue.Edit) async throws {
        let edit = EditQueue(edit, queue: queue)
        try await options.decide([VideoProjections.standard.queue]) { try edit.decide($0) }
    }
}

/// The command `storectl do hand-off`.
struct DoHandOffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hand-off",
        abstract: "Continue playback on another device, at the same position.",
        discussion: """
            EXAMPLE:
              storectl do hand-off tv phone
            """)

    @Argument(help: "The device that is playing.")
    var from: String

    @Argument(help: "The device that continues playback.")
    var to: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let change = HandOff(from: from, to: to, now: .now)
        let known = VideoProjections.standard
        try await options.decide([known.nowPlaying, known.playback, known.videos]) {
            try change.decide($0)
        }
    }
}

/// The command `storectl do playability`.
struct DoPlayabilityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playability",
        abstract: "Record the result of checking whether a video can be played.",
        discussion: """
            A result that is already known is recorded again only if the check is due. After a \
            failed check, another failed check is refused until the next check is due; see \
            storectl query playability.

            EXAMPLE:
              storectl do playability youtube:aqz-KE-bpKQ playable
              storectl do playability vimeo:1084537 failed --reason timeout --json
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Argument(
        help: "The result: playable, unplayable, or failed if the check itself failed.")
    var finding: FindingArgument

    @Option(
        help: "The reason, if unplayable or failed: lowercase letters, digits and hyphens.")
    var reason: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard (finding == .playable) == (reason == nil) else {
            throw ValidationError(
                "unplayable and failed require --reason; playable does not accept it")
        }
    }

    func run() async throws {
        let video = try VideoKey(video)
        let finding = finding.finding(reason ?? "")
        try await options.decide(VideoProjections.standard.playability, key: video.tag) {
            try CheckPlayability(video, finding, now: .now).decide($0)
        }
    }
}

/// `playable`, `unplayable` or `failed`.
enum FindingArgument: String, ExpressibleByArgument, CaseIterable {
    case playable, unplayable, failed

    func finding(_ reason: String) -> PlayabilityFinding {
        switch self {
        case .playable: .playable
        case .unplayable: .unplayable(reason: reason)
        case .failed: .failed(reason: reason)
        }
    }
}

/// The command `storectl do fail-extraction`.
struct DoFailExtractionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail-extraction",
        abstract: "Record that a video's content URL could not be extracted.",
        discussion: """
            The command is refused until the next attempt is due; see storectl query extractions.

            EXAMPLE:
              storectl do fail-extraction vimeo:1084537 timeout
            """)

    @Argument(help: "The video's key (provider:id) or any of its URLs.")
    var video: String

    @Argument(
        help: "The reason: timeout, gone, refused, unsupported, or another lowercase word.",
        completion: .list([
            FailExtraction.timeout, FailExtraction.gone, FailExtraction.refused,
            FailExtraction.unsupported,
        ]))
    var reason: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let (video, reason) = (try VideoKey(video), reason)
        try await options.decide(VideoProjections.standard.extractions, key: video.tag) {
            try FailExtraction(video, reason: reason, now: .now).decide($0)
        }
    }
}

/// The command `storectl do remove-downloads`.
struct DoRemoveDownloadsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-downloads",
        abstract: "Record that downloads were deleted from a device.",
        discussion: """
            storectl query downloads --budget lists the downloads to delete.

            EXAMPLE:
              storectl do remove-downloads vimeo:1084537 youtube:aqz-KE-bpKQ
            """)

    @Argument(help: "The videos: keys or URLs.")
    var videos: [String]

    @Option(help: ArgumentHelp("The device's name.", valueName: "name"))
    var device = Downloads.defaultDevice

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let remove = RemoveDownloads(try videos.map { try VideoKey($0) }, device: device)
        try await options.decide([VideoProjections.standard.downloads]) { try remove.decide($0) }
    }
}

extension UTCTime {
    /// The current time.
    static var now: UTCTime {
        UTCTime(milliseconds: Int64(clamping: EventLog.Options().now()))
    }
}
