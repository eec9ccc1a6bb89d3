internal import ArgumentParser
internal import Foundation
internal import Tapedeck

/// `storectl do open`.
struct DoOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a video, which counts as a view.",
        discussion: """
            A viewing counts once, also where it is recorded again under the same name.

            EXAMPLE:
              storectl do open youtube:aqz-KE-bpKQ --viewer guest
              storectl do open youtube:aqz-KE-bpKQ --viewer me --viewing v-1 --json
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Option(help: "Who opens it: an account, or a name for a guest.")
    var viewer: String

    @Option(
        help: ArgumentHelp(
            "The viewing's name, unique for ever; else a fresh one.", valueName: "name"))
    var viewing: String?

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let open = try OpenVideo(video, viewer: viewer, viewing: viewing ?? UUID().uuidString)
        try await options.decide([VideoProjections.standard.viewCounts]) { try open.decide($0) }
    }
}

/// `storectl do queue`.
struct DoQueueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Change what is to be played.",
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

/// `storectl do queue add`.
struct DoQueueAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Put a video behind all others.",
        discussion: """
            EXAMPLE:
              storectl do queue add vimeo:1084537
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.append(VideoKey(video))) }
}

/// `storectl do queue next`.
struct DoQueueNextCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "next",
        abstract: "Put a video behind another, or in front; one that is in the queue moves.",
        discussion: """
            EXAMPLE:
              storectl do queue next vimeo:1084537
              storectl do queue next vimeo:1084537 --after youtube:aqz-KE-bpKQ --json
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Option(help: ArgumentHelp("Behind which, such as the one that plays.", valueName: "video"))
    var after: String?

    @OptionGroup var queue: QueueOptions

    func run() async throws {
        try await queue.edit(.playNext(VideoKey(video), after: after.map { try VideoKey($0) }))
    }
}

/// `storectl do queue remove`.
struct DoQueueRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take a video out.",
        discussion: """
            EXAMPLE:
              storectl do queue remove vimeo:1084537
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.remove(VideoKey(video))) }
}

/// `storectl do queue clear`.
struct DoQueueClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Take all videos out.",
        discussion: """
            EXAMPLE:
              storectl do queue clear
              storectl do queue clear --queue kitchen --json
            """)

    @OptionGroup var queue: QueueOptions

    func run() async throws { try await queue.edit(.clear) }
}

/// Which queue is changed.
struct QueueOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Which queue.", valueName: "name"))
    var queue = PlayQueue.defaultName

    @OptionGroup var options: StoreOptions

    fileprivate func edit(_ edit: EditQueue.Edit) async throws {
        let edit = EditQueue(edit, queue: queue)
        try await options.decide([VideoProjections.standard.queue]) { try edit.decide($0) }
    }
}

/// `storectl do hand-off`.
struct DoHandOffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hand-off",
        abstract: "Hand what one device plays to another, with the place where it is.",
        discussion: """
            EXAMPLE:
              storectl do hand-off tv phone
            """)

    @Argument(help: "The device that plays.")
    var from: String

    @Argument(help: "The device that goes on.")
    var to: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let (from, to) = (from, to)
        let key = try Tag("device", from)
        try await options.decide(VideoProjections.standard.nowPlaying, key: key) {
            try HandOff(from: from, to: to, now: .now).decide($0)
        }
    }
}

/// `storectl do playability`.
struct DoPlayabilityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playability",
        abstract: "Record what a check of a video has found.",
        discussion: """
            What is known already records nothing. Behind a failure the next check has its time; query playability tells when.

            EXAMPLE:
              storectl do playability youtube:aqz-KE-bpKQ playable
              storectl do playability vimeo:1084537 failed --reason timeout --json
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Argument(
        help: "Whether it can be played: playable, unplayable, or failed where that is not known.")
    var finding: FindingArgument

    @Option(help: "Why not, in lower-case letters, digits and hyphens.")
    var reason: String?

    @OptionGroup var options: StoreOptions

    func validate() throws {
        guard (finding == .playable) == (reason == nil) else {
            throw ValidationError("--reason goes with unplayable and failed, which need one")
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

/// `storectl do fail-extraction`.
struct DoFailExtractionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail-extraction",
        abstract: "Record that the address of a video's content was not found.",
        discussion: """
            Before the next try has its time it is refused; query extractions tells when.

            EXAMPLE:
              storectl do fail-extraction vimeo:1084537 timeout
            """)

    @Argument(help: "The video: its key, provider:id, or any URL of it.")
    var video: String

    @Argument(
        help: "Why: timeout, gone, refused, unsupported, or another word of lower-case letters.",
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

/// `storectl do remove-downloads`.
struct DoRemoveDownloadsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-downloads",
        abstract: "Record that downloads were taken off a device's disk.",
        discussion: """
            query downloads --budget tells which have to go.

            EXAMPLE:
              storectl do remove-downloads vimeo:1084537 youtube:aqz-KE-bpKQ
            """)

    @Argument(help: "The videos: keys, provider:id, or URLs.")
    var videos: [String]

    @Option(help: ArgumentHelp("Which device.", valueName: "name"))
    var device = Downloads.defaultDevice

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let remove = RemoveDownloads(try videos.map { try VideoKey($0) }, device: device)
        try await options.decide([VideoProjections.standard.downloads]) { try remove.decide($0) }
    }
}

extension UTCTime {
    /// The clock's.
    fileprivate static var now: UTCTime {
        UTCTime(milliseconds: Int64(clamping: EventLog.Options().now()))
    }
}
