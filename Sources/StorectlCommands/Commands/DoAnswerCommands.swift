internal import ArgumentParser
internal import Tapedeck

/// The command `storectl do answer`.
struct DoAnswerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Record an answer in segments, merge them, and submit it.",
        discussion: """
            Add the files with storectl blob add, which prints their names. The next sync uploads a \
            submitted answer. All segments together must be shorter than \
            \(Int(AnswerRecorded.secondsMax)) s.

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

/// The command `storectl do answer add`.
struct DoAnswerAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a segment to the end of a recording.",
        discussion: """
            A segment that is already part of the recording is not added again.

            EXAMPLE:
              storectl do answer add 4711 r-1 one --blob "$BLOB" --seconds 34.5
            """)

    @OptionGroup var recording: RecordingArguments

    @Argument(help: "The segment's name.")
    var segment: String

    @Option(help: ArgumentHelp("The SHA-256 hash of the segment's file.", valueName: "sha-256"))
    var blob: String

    @Option(help: "The segment's duration in seconds.")
    var seconds: Double

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let segment = AnswerSegment(segment, blob: blob, seconds: seconds)
        try await recording.take(.add(segment), options)
    }
}

/// The command `storectl do answer remove`.
struct DoAnswerRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a segment.",
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

/// The command `storectl do answer discard`.
struct DoAnswerDiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Remove all segments.",
        discussion: """
            EXAMPLE:
              storectl do answer discard 4711 r-1
            """)

    @OptionGroup var recording: RecordingArguments

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.discard, options) }
}

/// The command `storectl do answer merge`.
struct DoAnswerMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Record that merging the segments has started.",
        discussion: """
            EXAMPLE:
              storectl do answer merge 4711 r-1
            """)

    @OptionGroup var recording: RecordingArguments

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.merge, options) }
}

/// The command `storectl do answer fail-merge`.
struct DoAnswerFailMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail-merge",
        abstract: "Record that merging the segments has failed.",
        discussion: """
            EXAMPLE:
              storectl do answer fail-merge 4711 r-1 interrupted
            """)

    @OptionGroup var recording: RecordingArguments

    @Argument(help: "The reason, in lowercase letters, digits and hyphens.")
    var reason: String

    @OptionGroup var options: StoreOptions

    func run() async throws { try await recording.take(.failMerge(reason: reason), options) }
}

/// The command `storectl do answer hand-in`.
struct DoAnswerHandInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hand-in",
        abstract: "Record the merged video; the next sync submits the answer.",
        discussion: """
            EXAMPLE:
              storectl do answer hand-in 4711 r-1 --video "$VIDEO" --thumbnail "$PICTURE"
            """)

    @OptionGroup var recording: RecordingArguments

    @Option(help: ArgumentHelp("The SHA-256 hash of the video's file.", valueName: "sha-256"))
    var video: String

    @Option(help: ArgumentHelp("The SHA-256 hash of the picture's file.", valueName: "sha-256"))
    var thumbnail: String

    @Option(help: "The video's file name extension.")
    var videoExtension = "mov"

    @Option(help: "The picture's file name extension.")
    var thumbnailExtension = "jpg"

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let files = AnswerFiles(
            video: video, thumbnail: thumbnail, videoExtension: videoExtension,
            thumbnailExtension: thumbnailExtension)
        try await recording.take(.handIn(files), options)
    }
}

/// The arguments that identify a recording.
struct RecordingArguments: ParsableArguments {
    @Argument(help: "The question's id.")
    var question: String

    @Argument(help: "The recording's name, which must never be reused.")
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
