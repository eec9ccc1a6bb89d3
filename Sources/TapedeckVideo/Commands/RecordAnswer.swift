internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// Records one step of making an answer: adding or removing segments, merging them, or submitting
/// the merged answer.
///
/// ```swift
/// let segment = try AnswerSegment("1", blob: blobs.add(contentsOf: file), seconds: 34.5)
/// let record = RecordAnswer(to: "4711", recording: recording, .add(segment))
/// try await store.decide { try record.decide(VideoQueries($0)) }
/// ```
///
/// A recording belongs to one device, which stores the recording's files. After a restart,
/// `answers` reports the state of each recording. If a merge was interrupted, merge the segments
/// again and submit the answer.
public struct RecordAnswer: Sendable {
    /// The id of the question.
    public var question: String
    /// A name for the recording, chosen by the device and never reused.
    public var recording: String
    /// The step to record.
    public var step: Step

    /// A step of a recording.
    public enum Step: Hashable, Sendable {
        /// Adds a segment to the end.
        case add(AnswerSegment)
        /// Removes a segment.
        case remove(segment: String)
        /// Removes all segments.
        case discard
        /// Records that merging the segments has started.
        case merge
        /// Records that merging has failed, with a reason of lowercase letters, digits and
        /// hyphens.
        case failMerge(reason: String)
        /// Records the merged files, so that the next sync submits the answer.
        case handIn(AnswerFiles)
    }

    /// Creates a command.
    public init(to question: String, recording: String, _ step: Step) {
        self.question = question
        self.recording = recording
        self.step = step
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The total length of the segments exceeds the limit by this many seconds.
        ///
        /// An answer must be shorter than `AnswerRecorded.secondsMax`, so the excess is 0 if the
        /// segments last exactly that long.
        case tooLong(excessSeconds: Double)
        /// The question was asked of another user.
        case notAsked
        /// The question has been answered, or an answer has been submitted and was not refused.
        case alreadyAnswered
        /// An answer from this recording has already been submitted; a new recording needs a new
        /// name.
        case hasEnded
        /// The recording has no segments.
        case nothingRecorded
        /// The segments are being merged.
        case isMerging
        /// The segments are not being merged.
        case notMerging

        /// The error message.
        public var message: String {
            switch self {
            case .tooLong(let excess):
                "the segments together are \(excess) s too long; an answer must be shorter than \(Int(AnswerRecorded.secondsMax)) s"
            case .notAsked: "the question was asked of another user"
            case .alreadyAnswered: "the question is already answered, or an answer is pending"
            case .hasEnded: "this recording has already been submitted"
            case .nothingRecorded: "the recording has no segments"
            case .isMerging: "the segments are being merged"
            case .notMerging: "the segments are not being merged"
            }
        }

        /// `.tooLarge` if the segments are too long, otherwise `.conditionFailed`.
        public var code: ErrorCode {
            switch self {
            case .tooLong: .tooLarge
            default: .conditionFailed
            }
        }

        /// A hint for the user.
        public var hint: String? {
            switch self {
            case .tooLong: "remove a segment, or record a shorter one"
            case .notAsked, .alreadyAnswered: "answer another question"
            case .hasEnded: "start another recording with a new name"
            case .nothingRecorded: "add a segment first"
            case .isMerging: "wait until merging ends, or record that it failed"
            case .notMerging: "start merging the segments first"
            }
        }
    }

    /// Returns the events to record, or nothing if the step is already done.
    ///
    /// Throws a `Refusal`; `ModelError` with `.invalidPayload` or `.tooLarge` for an invalid name,
    /// digest or duration; or errors from reading the store. The cost is a few lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let account = try queries.requireDeviceAccount(at: Whale.system)
        var state = try queries.questionState(question)
        if let recorded = state.recorded, account.isOthers(recorded.event) { state.recorded = nil }
        return try decide(state, by: queries.ownUser(account))
    }

    /// Returns the events to record, given the state of the question.
    ///
    /// - Parameter user: The user who answers; nil if unknown.
    public func decide(_ state: QuestionList.State, by user: String?) throws -> [any Event] {
        guard state.isPending, !state.isAnswering else { throw Refusal.alreadyAnswered }
        let asked = state.question.receiver
        guard asked.isEmpty || user == nil || asked == user else { throw Refusal.notAsked }
        guard !state.recordings.contains(where: { $0.name == recording && $0.hasEnded }) else {
            throw Refusal.hasEnded
        }
        let held = state.recording(recording)
        switch step {
        case .add(let segment): return try add(segment, to: held)
        case .remove(let segment):
            guard held?.merging == nil else { throw Refusal.isMerging }
            return held?.segments.first { $0.name == segment }.map { [removal(of: $0.name)] } ?? []
        case .discard: return held?.segments.map { removal(of: $0.name) } ?? []
        case .merge:
            guard let held else { throw Refusal.nothingRecorded }
            guard held.merging == nil else { return [] }
            try check(held.length)
            return [
                AnswerMergeStarted.with {
                    ($0.question, $0.recording) = (question, recording)
                    $0.segments = held.segments.map(\.name)
                }
            ]
        case .failMerge(let reason):
            guard held?.merging != nil else { throw Refusal.notMerging }
            return [
                try AnswerMergeFailed.with {
                    ($0.question, $0.recording, $0.reason) = (question, recording, reason)
                }.normalized()
            ]
        case .handIn(let files):
            guard let held, let merging = held.merging else { throw Refusal.notMerging }
            let merged = held.segments.filter { merging.contains($0.name) }
            let length = AnswerLength(sum: merged.lazy.map(\.seconds))
            try check(length)
            return [
                try AnswerRecorded.with {
                    ($0.question, $0.recording) = (question, recording)
                    ($0.blob, $0.thumbnail) = (files.video, files.thumbnail)
                    ($0.videoExtension, $0.thumbnailExtension) = (
                        files.videoExtension, files.thumbnailExtension
                    )
                    $0.durationSeconds = length.seconds
                }.normalized()
            ]
        }
    }

    private func add(_ segment: AnswerSegment, to held: AnswerRecording?) throws -> [any Event] {
        guard held?.merging == nil else { throw Refusal.isMerging }
        let segments = held?.segments ?? []
        guard !segments.contains(where: { $0.name == segment.name }) else { return [] }
        try check(AnswerLength(sum: segments.map(\.seconds) + [segment.seconds]))
        return [
            try AnswerSegmentRecorded.with {
                ($0.question, $0.recording) = (question, recording)
                ($0.segment, $0.blob) = (segment.name, segment.blob)
                $0.durationSeconds = segment.seconds
            }.normalized()
        ]
    }

    private func removal(of segment: String) -> AnswerSegmentRemoved {
        .with { ($0.question, $0.recording, $0.segment) = (question, recording, segment) }
    }

    private func check(_ length: AnswerLength) throws(Refusal) {
        guard !length.isTooLong else { throw .tooLong(excessSeconds: length.excessSeconds) }
    }
}

/// A segment of an answer, as recorded by a camera.
public struct AnswerSegment: Hashable, Sendable {
    /// The segment's name, unique in its recording.
    public var name: String
    /// The SHA-256 of the segment's file in the store's blobs, as 64 lowercase hexadecimal digits.
    public var blob: String
    /// The duration in seconds.
    public var seconds: Double

    /// Creates a segment.
    public init(_ name: String, blob: String, seconds: Double) {
        self.name = name
        self.blob = blob
        self.seconds = seconds
    }
}

/// The files of a merged answer, in the store's blobs.
public struct AnswerFiles: Hashable, Sendable {
    /// The SHA-256 of the video, as 64 lowercase hexadecimal digits.
    public var video: String
    /// The SHA-256 of the still picture, as 64 lowercase hexadecimal digits.
    public var thumbnail: String
    /// The extension of the video's file name, without the dot.
    public var videoExtension: String
    /// The extension of the picture's file name, without the dot.
    public var thumbnailExtension: String

    /// Creates references to the files.
    public init(
        video: String, thumbnail: String, videoExtension: String = "mov",
        thumbnailExtension: String = "jpg"
    ) {
        self.video = video
        self.thumbnail = thumbnail
        self.videoExtension = videoExtension
        self.thumbnailExtension = thumbnailExtension
    }
}

extension VideoQueries {
    /// Returns the state of a question, or an empty state if the question is unknown.
    fileprivate func questionState(_ question: String) throws -> QuestionList.State {
        try reader.state(of: projections.questions, key: Tag("question", question)) ?? .init()
    }
}
