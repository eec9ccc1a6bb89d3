internal import TapedeckModel
internal import TapedeckProjections

/// A page of answers.
public struct AnswersPage: Codable, Hashable, Sendable {
    /// The answers, the one handed in last first.
    public var answers: [AnswerEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// An answer that is recorded or handed in, or that a remote shows.
public struct AnswerEntry: Codable, Hashable, Sendable {
    /// How far an answer is.
    public enum State: String, Codable, Sendable {
        /// It is recorded by segments, which are not being merged.
        case recorded
        /// Its segments are being merged into one video.
        case merging
        /// It was recorded here and is whole, and no remote has been told of it.
        case waiting
        /// The server has it, or still receives it, or cannot say.
        case uploading
        /// A remote shows it, or its address is known.
        case published
        /// A remote will not take it; or it is recorded, and longer than an answer may be.
        case refused
    }

    /// A part of an answer that is recorded.
    public struct Segment: Codable, Hashable, Sendable {
        /// Its name.
        public var id: String
        /// How long it is.
        public var durationSeconds: Double
    }

    /// The answer's id; before it has one, that of the event by which it was recorded, and while it is recorded
    /// the recording's name.
    public var id: String
    /// The question's id.
    @NullWhenNil public var question: String?
    /// What is asked.
    @NullWhenNil public var questionText: String?
    /// The id of the user who asks.
    @NullWhenNil public var sender: String?
    /// The name of the user who asks.
    @NullWhenNil public var senderName: String?
    /// The id of the user who is asked, and answers.
    @NullWhenNil public var receiver: String?
    /// The name of the user who is asked, and answers.
    @NullWhenNil public var receiverName: String?
    /// How far it is.
    public var state: State
    /// How long it is.
    @NullWhenNil public var durationSeconds: Double?
    /// Where it can be watched.
    @NullWhenNil public var videoUrl: String?
    /// Where its still picture is.
    @NullWhenNil public var thumbnailUrl: String?
    /// How many comments `comments` lists: those posted here, and those that a remote shows.
    public var commentCount: Int
    /// How many likes it has, as the remote says.
    @NullWhenNil public var likeCount: Int?
    /// Whether the user likes it.
    public var isLiked: Bool
    /// Its segments, while it is recorded.
    public var segments: [Segment]
    /// Why it was refused, as a code; of one that is recorded, why its segments could not be merged.
    @NullWhenNil public var code: String?
    /// The same as a sentence.
    @NullWhenNil public var message: String?
}

extension VideoQueries {
    /// The answers: those that nobody can watch, the one begun last in front; then those handed in, the last
    /// first; then those of which no time is known, by their numbers.
    ///
    /// Pages go on behind the last row that was given, so what is added in front meanwhile neither repeats a
    /// row nor pushes one out. One that comes to be shown between two pages may be in both: once as what waits,
    /// once as what is shown. Costs what the page holds, and three look-ups a row.
    public func answers(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> AnswersPage {
        let own = try ownUser()
        let (answers, next) = try page(
            .recordedAnswers, of: recordedAnswers,
            then: { try shownAnswers(likedBy: own, $0, $1) }, limit: limit, cursor: cursor)
        return AnswersPage(answers: answers, next: next)
    }

    /// What is known of an answer; nil for one that was not handed in and that no remote shows.
    ///
    /// - Parameter id: its id at the remote.
    public func answer(_ id: String) throws -> AnswerEntry? {
        let key = try Tag("answer", id)
        guard let state = try reader.state(of: projections.answers, key: key), state.isListed
        else { return nil }
        return try entry(state, key, likedBy: ownUser())
    }

    private func recordedAnswers(
        _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.questions, table: QuestionList.Table.recorded, .recordedAnswers,
            limit: limit, cursor: cursor)
        return (try rows.compactMap(recordedAnswer), next)
    }

    /// The answer of a row of those that nobody can watch.
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
            (entry.code, entry.message) = (reason, "its segments could not be merged: \(reason)")
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
        likedBy own: String?, _ limit: Int, _ cursor: String?
    ) throws -> ([AnswerEntry], next: String?) {
        let (rows, next) = try page(
            of: projections.answers, .answers, limit: limit, cursor: cursor)
        return (try rows.map { try shownAnswer($0, likedBy: own) }, next)
    }

    /// The answer of a row of those that were handed in or that a remote shows.
    func shownAnswer(_ row: Row, likedBy own: String?) throws -> AnswerEntry {
        let state = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try AnswerList.State(reading: &reader)
        }
        return try entry(state, tag("answer", in: row, after: 16), likedBy: own)
    }

    private func entry(
        _ state: AnswerList.State, _ key: Tag, likedBy own: String?
    ) throws -> AnswerEntry {
        let isPublished = state.isSighted || state.videoURL != nil
        let (uploaded, sighting) = (state.uploaded, state.sighting)
        let question = try state.question.flatMap { question in
            try reader.state(of: projections.questions, key: Tag("question", question))?.question
        }
        return try AnswerEntry(
            id: String(key.name), question: state.question,
            state: isPublished ? .published : .uploading,
            durationSeconds: uploaded.hasDurationSeconds ? uploaded.durationSeconds : nil,
            videoUrl: state.videoURL, thumbnailUrl: state.thumbnailURL,
            commentCount: Int(clamping: state.posted &+ state.observed),
            likeCount: sighting.hasLikeCount ? Int(clamping: sighting.likeCount) : nil,
            isLiked: isLiked(state, key, by: own), segments: []
        ).asked(question ?? QuestionObserved(), self)
    }
}

extension AnswerList.State {
    /// Whether lists have it.
    var isListed: Bool { uploadedAt != nil || isSighted }
}

extension AnswerEntry {
    /// With what is known of the question; nothing of one that no remote has shown.
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
