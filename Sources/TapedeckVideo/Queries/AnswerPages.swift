internal import TapedeckModel
internal import TapedeckProjections

/// A page of answers.
public struct AnswersPage: Codable, Hashable, Sendable {
    /// The answers: unpublished answers first, then published answers, newest first.
    public var answers: [AnswerEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// An answer that is being recorded, was submitted, or is shown by a remote.
public struct AnswerEntry: Codable, Hashable, Sendable {
    /// The state of an answer.
    public enum State: String, Codable, Sendable {
        /// The answer is being recorded in segments, and no merge is in progress.
        case recorded
        /// The segments of the answer are being merged into one video.
        case merging
        /// The answer is complete, but has not been sent to a remote yet.
        case waiting
        /// The remote has received the answer or is still receiving it, or the outcome is unknown.
        case uploading
        /// A remote shows the answer, or the URL of its video is known.
        case published
        /// A remote refused the answer, or the recording is too long.
        case refused
    }

    /// A segment of an answer that is being recorded.
    public struct Segment: Codable, Hashable, Sendable {
        /// The segment's name.
        public var id: String
        /// The segment's length in seconds.
        public var durationSeconds: Double
    }

    /// The answer's id on the remote.
    ///
    /// Until the remote assigns an id, this is the id of the event that submitted the answer.
    /// Before the answer is submitted, this is the name of the recording.
    public var id: String
    /// The question's id.
    @NullWhenNil public var question: String?
    /// The text of the question.
    @NullWhenNil public var questionText: String?
    /// The id of the user who asked.
    @NullWhenNil public var sender: String?
    /// The name of the user who asked.
    @NullWhenNil public var senderName: String?
    /// The id of the user who was asked and who answers.
    @NullWhenNil public var receiver: String?
    /// The name of the user who was asked and who answers.
    @NullWhenNil public var receiverName: String?
    /// The state of the answer.
    public var state: State
    /// The length of the answer in seconds.
    @NullWhenNil public var durationSeconds: Double?
    /// The URL of the video.
    @NullWhenNil public var videoUrl: String?
    /// The URL of the still picture.
    @NullWhenNil public var thumbnailUrl: String?
    /// The number of comments that `comments` lists, whether they were posted here or are shown by
    /// a remote.
    public var commentCount: Int
    /// The number of likes that the remote reports.
    @NullWhenNil public var likeCount: Int?
    /// Whether the user likes the answer.
    public var isLiked: Bool
    /// The segments of an answer that is being recorded; otherwise empty.
    public var segments: [Segment]
    /// An error code if the answer was refused, its segments could not be merged, or the outcome of
    /// its upload is unknown.
    @NullWhenNil public var code: String?
    /// The error message that goes with `code`.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// Returns the answers: unpublished answers first, then published answers, newest first.
    ///
    /// The list has three parts: answers that cannot be watched yet, most recently started first;
    /// submitted answers, newest first; and answers without a known time, highest number first.
    ///
    /// A page continues after the last row of the previous page, so new rows at the front do not
    /// cause other rows to be repeated or skipped. An answer that is published between the reads of
    /// two pages may be on both pages, first as waiting, then as published. The cost is three
    /// lookups per row of the page.
    public func answers(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> AnswersPage {
        let own = try own()
        let (answers, next) = try page(
            .recordedAnswers, of: recordedAnswers,
            then: { try shownAnswers(likedBy: own, $0, $1) }, limit: limit, cursor: cursor)
        return AnswersPage(answers: answers, next: next)
    }

    /// Returns the known facts about an answer, or nil if it was neither submitted nor shown by a
    /// remote, or if the remote has removed it.
    ///
    /// - Parameter id: The answer's id on the remote.
    public func answer(_ id: String) throws -> AnswerEntry? {
        let key = try Tag("answer", id)
        guard let state = try reader.state(of: projections.answers, key: key), state.isListed
        else { return nil }
        return try entry(state, key, likedBy: own())
    }

    private func recordedAnswers(
        _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.questions, table: QuestionList.Table.recorded, .recordedAnswers,
            limit: limit, cursor: cursor)
        return (try rows.compactMap(recordedAnswer), next)
    }

    /// Converts a row to an answer that cannot be watched yet.
    func recordedAnswer(_ row: Row) throws -> AnswerEntry? {
        let (question, name, state) = try StateReader.read(row.value) {
            (reader) throws(ModelError) in
            (
                try reader.string(), try reader.optionalString(),
                try QuestionList.State(reading: &reader)
            )
        }
        if let name { return try state.recording(name).map { try entry($0, question, state) } }
        return try state.handedIn.map { try entry($0, state) }
    }

    private func entry(
        _ recording: AnswerRecording, _ question: String, _ state: QuestionList.State
    ) throws -> AnswerEntry {
        let length = recording.length
        var entry = try AnswerEntry(
            id: recording.name, question: question, state: .recorded,
            durationSeconds: length.seconds, commentCount: 0, isLiked: false,
            segments: recording.segments.map { .init(id: $0.name, durationSeconds: $0.seconds) }
        ).asked(state.question, self)
        if recording.merging != nil {
            entry.state = .merging
        } else if length.isTooLong {
            entry.state = .refused
            (entry.code, entry.message) = (ErrorCode.tooLarge.rawValue, length.sentence)
        } else if let reason = recording.failure {
            (entry.code, entry.message) = (reason, "the segments could not be merged: \(reason)")
        }
        return entry
    }

    private func entry(
        _ handedIn: RecordedAnswer, _ state: QuestionList.State
    ) throws -> AnswerEntry {
        var entry = try AnswerEntry(
            id: handedIn.event.description, question: handedIn.recorded.question, state: .waiting,
            durationSeconds: handedIn.recorded.durationSeconds, commentCount: 0, isLiked: false,
            segments: []
        ).asked(state.question, self)
        guard let outcome = state.outcome else { return entry }
        switch outcome.kind {
        case .dispatched, .confirmed: entry.state = .uploading
        case .unknown:
            entry.state = .uploading
            entry.code = ErrorCode.unknownOutcome.rawValue
            entry.message = outcome.message.isEmpty ? nil : outcome.message
        case .refused:
            entry.state = .refused
            (entry.code, entry.message) = (outcome.code, outcome.message)
        case .unsent, .retried, .dropped: break
        }
        return entry
    }

    private func shownAnswers(
        likedBy own: OwnUser, _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.answers, .answers, limit: limit, cursor: cursor)
        return (try rows.map { try shownAnswer($0, likedBy: own) }, next)
    }

    /// Converts a row to a submitted or shown answer.
    func shownAnswer(_ row: Row, likedBy own: OwnUser) throws -> AnswerEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try AnswerList.State(reading: &reader)
        }
        return try entry(state, tag("answer", in: row, after: 16), likedBy: own)
    }

    private func entry(
        _ state: AnswerList.State, _ key: Tag, likedBy own: OwnUser
    ) throws -> AnswerEntry {
        let isPublished = state.isSighted || state.videoURL != nil
        let (uploaded, observation) = (state.uploaded, state.observation)
        let question = try state.question.flatMap { question in
            try reader.state(of: projections.questions, key: Tag("question", question))?.question
        }
        return try AnswerEntry(
            id: String(key.name), question: state.question,
            state: isPublished ? .published : .uploading,
            durationSeconds: uploaded.hasDurationSeconds ? uploaded.durationSeconds : nil,
            videoUrl: state.videoURL, thumbnailUrl: state.thumbnailURL,
            commentCount: Int(clamping: state.posted &+ state.observed),
            likeCount: observation.hasLikeCount ? Int(clamping: observation.likeCount) : nil,
            isLiked: isLiked(state, key, by: own), segments: []
        ).asked(question ?? QuestionObserved(), self)
    }
}

extension AnswerEntry {
    /// Returns a copy with the known facts about the question, or an unchanged copy if no remote
    /// has shown the question.
    fileprivate func asked(
        _ question: QuestionObserved, _ queries: VideoQueries<some ViewReader>
    ) throws -> AnswerEntry {
        guard !question.question.isEmpty else { return self }
        var entry = self
        (entry.questionText, entry.sender, entry.receiver) = (
            question.text, question.sender, question.receiver
        )
        entry.senderName = try queries.username(question.sender)
        entry.receiverName = try queries.username(question.receiver)
        return entry
    }
}
