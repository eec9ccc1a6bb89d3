internal import ArgumentParser
internal import Tapedeck

/// `storectl do answer`.
struct DoAnswerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Record an answer by segments, merge them, and hand the answer in.",
        discussion: """
            The files are kept by storectl blob add, which prints their names. What was handed in \
            goes out by the next sync. All segments together are shorter than \(Int(AnswerRecorded.secondsMax)) s.

            EXAMPLE:
              storectl blob add one.mov
              storectl do answer add 4711 r-1 one --blob "$BLOB" --seconds 34.5
              storectl do answer merge 4711 r-1
            """,
        subcommands: [
            DoAnswerAddCommand.self, DoAnswerRemoveCommand.self, DoAnswerDiscardCommand.self,
            DoAnswerMergeCommand.self, DoAnswerFailMergeCommand.self, DoAnswerHandInCommand.self,
        ])
}

/// `storectl do answer add`.
struct DoAnswerAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a segment behind the others.",
        discussion: """
            One that is there already records nothing.

            EXAMPLE:
              storectl do answer add 4711 r-1 one --blob "$BLOB" --seconds 34.5
            """)

    @OptionGroup var recording: RecordingArguments

    @Argument(help: "The segment's name.")
    var segment: String

    @Option(help: ArgumentHelp("Its file's name among the blobs.", valueName: "sha-256"))
    var blob: String

    @Option(help: "How long it is.")
    var seconds: Double

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let segment = AnswerSegment(segment, blob: blob, seconds: seconds)
        try await recording.take(.add(segment), options)
    }
}

/// `storectl do answer remove`.
struct DoAnswerRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take a segment out.",
        discussion: """
            EXAMPLE:
              storectl do answer remove 4711 r-1 one
            """)

    @OptionGroup var recording: RecordingArguments

    @Argument(help: "The segment's name.")
    var segment: String

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.remove(segment: segment), options) }
}

/// `storectl do answer discard`.
struct DoAnswerDiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Take all segments out.",
        discussion: """
            EXAMPLE:
              storectl do answer discard 4711 r-1
            """)

    @OptionGroup var recording: RecordingArguments

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.discard, options) }
}

/// `storectl do answer merge`.
struct DoAnswerMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Say that the segments are being merged.",
        discussion: """
            EXAMPLE:
              storectl do answer merge 4711 r-1
            """)

    @OptionGroup var recording: RecordingArguments

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.merge, options) }
}

/// `storectl do answer fail-merge`.
struct DoAnswerFailMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail-merge",
        abstract: "Say that the segments could not be merged.",
        discussion: """
            EXAMPLE:
              storectl do answer fail-merge 4711 r-1 interrupted
            """)

    @OptionGroup var recording: RecordingArguments

    @Argument(help: "Why, in lower-case letters, digits and hyphens.")
    var reason: String

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.failMerge(reason: reason), options) }
}

/// `storectl do answer hand-in`.
struct DoAnswerHandInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hand-in",
        abstract: "Say that the segments are merged: the next sync hands the answer in.",
        discussion: """
            EXAMPLE:
              storectl do answer hand-in 4711 r-1 --video "$VIDEO" --thumbnail "$PICTURE"
            """)

    @OptionGroup var recording: RecordingArguments

    @Option(help: ArgumentHelp("The video's name among the blobs.", valueName: "sha-256"))
    var video: String

    @Option(help: ArgumentHelp("The still picture's name among the blobs.", valueName: "sha-256"))
    var thumbnail: String

    @Option(help: "How the video's file name ends.")
    var videoExtension = "mov"

    @Option(help: "How the picture's file name ends.")
    var thumbnailExtension = "jpg"

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let files = AnswerFiles(
            video: video, thumbnail: thumbnail, videoExtension: videoExtension,
            thumbnailExtension: thumbnailExtension)
        try await recording.take(.handIn(files), options)
    }
}

/// Which recording.
struct RecordingArguments: ParsableArguments {
    @Argument(help: "The question's id.")
    var question: String

    @Argument(help: "The recording's name, unique for ever.")
    var recording: String

    fileprivate func take(_ step: RecordAnswer.Step, _ options: StoreOptions) async throws {
        let record = RecordAnswer(to: question, recording: recording, step)
        let projections = VideoProjections.standard
        let wanted: [any Projection] = [
            projections.questions, projections.users, projections.accounts,
        ]
        try await options.decide(wanted) { try record.decide($0) }
    }
}
