public import TapedeckModel

extension AnswerSegmentRecorded: VideoEvent {
    /// The event type `AnswerSegmentRecorded`.
    public static let eventType: EventType = "AnswerSegmentRecorded"

    /// The tag of the question.
    public var tags: [Tag] { get throws { [try Tag("question", question)] } }

    /// Checks the ids, the digest and the duration.
    ///
    /// Even a single segment must be shorter than the limit for an answer.
    public func normalized() throws(ModelError) -> AnswerSegmentRecorded {
        try FieldChecks.id(question, "question")
        try FieldChecks.id(recording, "recording")
        try FieldChecks.id(segment, "segment")
        try FieldChecks.digest(blob, "blob")
        try FieldChecks.answerSeconds(durationSeconds, "durationSeconds")
        return self
    }
}

extension AnswerSegmentRemoved: VideoEvent {
    /// The event type `AnswerSegmentRemoved`.
    public static let eventType: EventType = "AnswerSegmentRemoved"

    /// The tag of the question.
    public var tags: [Tag] { get throws { [try Tag("question", question)] } }

    /// Checks the ids.
    public func normalized() throws(ModelError) -> AnswerSegmentRemoved {
        try FieldChecks.id(question, "question")
        try FieldChecks.id(recording, "recording")
        try FieldChecks.id(segment, "segment")
        return self
    }
}

extension AnswerMergeStarted: VideoEvent {
    /// The event type `AnswerMergeStarted`.
    public static let eventType: EventType = "AnswerMergeStarted"

    /// The tag of the question.
    public var tags: [Tag] { get throws { [try Tag("question", question)] } }

    /// Checks the ids, and that there are segments to merge.
    public func normalized() throws(ModelError) -> AnswerMergeStarted {
        try FieldChecks.id(question, "question")
        try FieldChecks.id(recording, "recording")
        try FieldChecks.list(segments.count, "segments")
        guard !segments.isEmpty else {
            throw FieldChecks.invalid("segments", "is missing or empty")
        }
        for segment in segments { try FieldChecks.id(segment, "segments") }
        guard Set(segments).count == segments.count else {
            throw FieldChecks.invalid("segments", "contains a segment twice")
        }
        return self
    }
}

extension AnswerMergeFailed: VideoEvent {
    /// The event type `AnswerMergeFailed`.
    public static let eventType: EventType = "AnswerMergeFailed"

    /// The tag of the question.
    public var tags: [Tag] { get throws { [try Tag("question", question)] } }

    /// Checks the ids and the reason.
    public func normalized() throws(ModelError) -> AnswerMergeFailed {
        try FieldChecks.id(question, "question")
        try FieldChecks.id(recording, "recording")
        try FieldChecks.reason(reason, "reason")
        return self
    }
}

extension FieldChecks {
    /// Checks that the duration of an answer or a segment is above 0 and below the limit.
    static func answerSeconds(_ value: Double, _ field: String) throws(ModelError) {
        guard value.isFinite, value > 0 else {
            throw invalid(field, "is missing or not above 0")
        }
        guard value < AnswerRecorded.secondsMax else {
            throw ModelError(
                .tooLarge,
                "\(field): \(AnswerLength(seconds: value).sentence)")
        }
    }
}

/// The duration of an answer in whole milliseconds, so that all devices compute the same sum for
/// its segments.
struct AnswerLength: Hashable, Comparable, Sendable {
    /// The limit on the duration of an answer; every answer must be shorter than the limit.
    static let end = AnswerLength(milliseconds: Int64(AnswerRecorded.secondsMax) * 1_000)

    private(set) var milliseconds: Int64

    private init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Rounds to milliseconds; an invalid duration becomes 0.
    init(seconds: Double) {
        let limit = FieldLimits.secondsMax
        let known = seconds.isFinite ? min(max(seconds, 0), limit) : 0
        milliseconds = Int64((known * 1_000).rounded())
    }

    init(sum lengths: some Sequence<Double>) {
        milliseconds = lengths.reduce(0) { $0 + AnswerLength(seconds: $1).milliseconds }
    }

    var seconds: Double { Double(milliseconds) / 1_000 }
    var isTooLong: Bool { self >= .end }
    /// The number of seconds by which the duration exceeds the limit.
    ///
    /// A duration equal to the limit is also too long, although the excess is then 0.
    var excessSeconds: Double {
        max(0, Double(milliseconds - AnswerLength.end.milliseconds) / 1_000)
    }

    /// A sentence that explains why the duration is too long.
    var sentence: String {
        let limit = Int(AnswerRecorded.secondsMax)
        let excess = excessSeconds > 0 ? "\(excessSeconds) s " : ""
        return "\(seconds) s is \(excess)too long; an answer must be shorter than \(limit) s"
    }

    static func < (left: AnswerLength, right: AnswerLength) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
