internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// Records an answer by segments, merges them and hands the answer in.
///
/// ```swift
/// let segment = try AnswerSegment("1", blob: blobs.add(contentsOf: file), seconds: 34.5)
/// let record = RecordAnswer(to: "4711", recording: recording, .add(segment))
/// try await store.decide { try record.decide(VideoQueries($0)) }
/// ```
///
/// A recording is one device's, as its files lie there. After a restart `answers` tells how far it was: one that
/// was being merged is merged again, and handed in.
public struct RecordAnswer: Sendable {
    /// The question's id.
    public var question: String
    /// The recording's name: one that the device gives, unique for ever.
    public var recording: String
    /// What to do.
    public var step: Step

    /// What can be done with a recording.
    public enum Step: Hashable, Sendable {
        /// Adds a segment behind the others.
        case add(AnswerSegment)
        /// Takes a segment out.
        case remove(segment: String)
        /// Takes all out.
        case discard
        /// Says that the segments are being merged.
        case merge
        /// Says that they could not be merged, and why: lower-case letters, digits and hyphens.
        case failMerge(reason: String)
        /// Says that they are merged: the next sync hands the answer in.
        case handIn(AnswerFiles)
    }

    /// Makes a command.
    public init(to question: String, recording: String, _ step: Step) {
        self.question = question
        self.recording = recording
        self.step = step
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// All segments together are too long by so much; by 0 where they last exactly as long as an answer must
        /// not.
        case tooLong(excessSeconds: Double)
        /// Somebody else is asked.
        case notAsked
        /// The question has an answer, or one is handed in that no remote has refused.
        case alreadyAnswered
        /// There is an answer of this recording; another one needs another name.
        case hasEnded
        /// There is no segment.
        case nothingRecorded
        /// The segments are being merged.
        case isMerging
        /// The segments are not being merged.
        case notMerging

        /// What does not allow it.
        public var message: String {
            switch self {
            case .tooLong(let excess):
                "together the segments are \(excess) s too long: an answer is shorter than \(Int(AnswerRecorded.secondsMax)) s"
            case .notAsked: "the question is asked of somebody else"
            case .alreadyAnswered: "the question is answered, or an answer is on its way"
            case .hasEnded: "this recording was handed in; another one needs another name"
            case .nothingRecorded: "nothing is recorded"
            case .isMerging: "the segments are being merged"
            case .notMerging: "the segments are not being merged"
            }
        }

        /// `.tooLarge` for segments that are too long, else `.conditionFailed`.
        public var code: ErrorCode {
            switch self {
            case .tooLong: .tooLarge
            default: .conditionFailed
            }
        }

        /// What to do.
        public var hint: String? {
            switch self {
            case .tooLong: "take a segment out, or record a shorter one"
            case .notAsked, .alreadyAnswered: "answer another question"
            case .hasEnded: "begin another recording"
            case .nothingRecorded: "add a segment first"
            case .isMerging: "wait for its end, or say that it has failed"
            case .notMerging: "begin to merge them first"
            }
        }
    }

    /// What is to be recorded; nothing where it is done already.
    ///
    /// Throws a `Refusal`; `ModelError` with `.invalidPayload` or `.tooLarge` for a name, a digest or a duration
    /// that is none; or what reading throws. Costs a few look-ups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try decide(queries.questionState(question), by: queries.ownUser())
    }

    /// What is to be recorded, of what is known of the question.
    ///
    /// - Parameter user: who answers; nil where nobody knows.
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

/// A part of an answer, as a camera has recorded it.
public struct AnswerSegment: Hashable, Sendable {
    /// Its name, unique in its recording.
    public var name: String
    /// Its file among the store's blobs: the SHA-256 as 64 hexadecimal digits in lower case.
    public var blob: String
    /// How long it is, in seconds.
    public var seconds: Double

    /// Makes a segment.
    public init(_ name: String, blob: String, seconds: Double) {
        self.name = name
        self.blob = blob
        self.seconds = seconds
    }
}

/// The files of an answer that was merged, among the store's blobs.
public struct AnswerFiles: Hashable, Sendable {
    /// The video: its SHA-256 as 64 hexadecimal digits in lower case.
    public var video: String
    /// The still picture, named in the same way.
    public var thumbnail: String
    /// How the video's file name ends, without the dot.
    public var videoExtension: String
    /// How the picture's file name ends, without the dot.
    public var thumbnailExtension: String

    /// Names the files.
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
    /// What is known of a question; nothing of one that nobody has told of.
    fileprivate func questionState(_ question: String) throws -> QuestionList.State {
        try reader.state(of: projections.questions, key: Tag("question", question)) ?? .init()
    }
}
