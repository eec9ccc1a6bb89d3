internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The questions that remotes show, and the progress of their answers.
///
/// A question is pending until it has an answer that can be watched. Answers to a question are
/// recorded in segments (`AnswerRecording`), merged and submitted. All recordings and submitted
/// answers are stored under the question, since an answer has no id until a remote shows it.
/// Remotes report no times, so lists are sorted by the number of the question, highest first.
/// Questions that the user has asked and that no remote has shown yet are in `UserList`, since they
/// have no number yet.
public struct QuestionList: Projection {
    /// Creates the projection.
    public init() {}

    /// `questions`.
    public var name: String { "questions" }
    /// 4.
    public var version: Int { 4 }
    /// `question`.
    public var tagKind: String { "question" }
    /// Questions, their answers, and the outcomes of submitted answers.
    public var eventTypes: [EventType] {
        [
            QuestionObserved.eventType, AnswerObserved.eventType, AnswerUploaded.eventType,
            AnswerRecorded.eventType, AnswerSegmentRecorded.eventType,
            AnswerSegmentRemoved.eventType, AnswerMergeStarted.eventType,
            AnswerMergeFailed.eventType, IntentOutcome.eventType,
        ]
    }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        A question has the content of its newest observation, and is not listed if that \
        observation reports a removal. A question is answered once a remote shows an answer or an \
        answer was uploaded, unless the remote has removed that answer. Until then, the last \
        recorded answer determines \
        the question's progress.
        """
    }
    /// Five tables: all questions, all questions by receiver, pending questions, pending questions
    /// by receiver, and answers that cannot be watched yet (recordings in progress and the last
    /// submitted answer).
    public var tables: [String] {
        ["newest-first", "by-receiver", "pending", "pending-by-receiver", "recorded"]
    }

    enum Table {
        static let recorded = 4

        /// Returns the table for questions that remotes show.
        static func listed(isPending: Bool, byReceiver: Bool) -> Int {
            (isPending ? 2 : 0) + (byReceiver ? 1 : 0)
        }
    }

    /// The known facts about a question.
    public struct State: ProjectionState, Equatable {
        /// The merged observations of the question; its `question` is empty until a remote shows
        /// it.
        var question = QuestionObserved()
        /// The id of the question's answer; nil if there is none.
        private(set) var answer: String?
        /// The ids of the answers that the remote has removed.
        private(set) var removedAnswers: [String] = []
        /// The last answer recorded on one of the user's devices, and the event that recorded it.
        var recorded: RecordedAnswer?
        /// The last outcome of each submitted answer.
        private(set) var outcomes: [AnswerOutcome] = []
        /// All recordings, including ended ones, in the order in which they were started.
        private(set) var recordings: [AnswerRecording] = []

        /// Creates the initial state.
        public init() {}

        /// Whether there is no answer that can be watched.
        var isPending: Bool { answer == nil }

        /// The outcome of the last recorded answer.
        var outcome: IntentOutcome? {
            recorded.flatMap { recorded in
                outcomes.first { $0.intent == recorded.event.description }?.outcome
            }
        }

        /// Whether lists include the question.
        var isListed: Bool { !question.question.isEmpty && !question.removed }

        /// The last recorded answer, unless the user has dropped it or the remote has published and
        /// removed it.
        var handedIn: RecordedAnswer? {
            switch outcome?.kind {
            case .dropped: nil
            case .confirmed: removedAnswers.isEmpty ? recorded : nil
            default: recorded
            }
        }

        /// Whether remotes may still show the submitted answer.
        var isAnswering: Bool { handedIn != nil && outcome?.kind != .refused }

        /// Returns the recording in progress with the given name; nil if there is none.
        func recording(_ name: String) -> AnswerRecording? {
            recordings.first { $0.name == name && !$0.hasEnded }
        }

        fileprivate mutating func take(_ observation: AnswerObserved) {
            removedAnswers.removeAll { $0 == observation.answer }
            if !observation.removed {
                answer = observation.answer
            } else {
                removedAnswers.append(observation.answer)
                if answer == observation.answer { answer = nil }
            }
        }

        /// Takes an upload; observations take precedence.
        fileprivate mutating func take(_ upload: AnswerUploaded) {
            guard answer == nil, !removedAnswers.contains(upload.answer) else { return }
            answer = upload.answer
        }

        fileprivate mutating func take(_ outcome: IntentOutcome, of intent: String) {
            outcomes.removeAll { $0.intent == intent }
            outcomes.append(AnswerOutcome(intent: intent, outcome: outcome))
        }

        /// Changes a recording in progress; if it does not exist and a time is given, starts it
        /// first.
        ///
        /// A recording that has no segments left is removed.
        fileprivate mutating func change(
            _ name: String, begunAt: Int64? = nil, _ body: (inout AnswerRecording) -> Void
        ) {
            var index = recordings.firstIndex { $0.name == name }
            if index == nil, let begunAt {
                index = recordings.endIndex
                recordings.append(AnswerRecording(name: name, at: begunAt))
            }
            guard let index, !recordings[index].hasEnded else { return }
            body(&recordings[index])
            if recordings[index].segments.isEmpty, !recordings[index].hasEnded {
                recordings.remove(at: index)
            }
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            question = try bytes.message()
            answer = try bytes.optionalString()
            removedAnswers = try bytes.array { (reader) throws(ModelError) in
                try reader.string()
            }
            recorded = try bytes.optional { (reader) throws(ModelError) in
                try RecordedAnswer(decoding: &reader)
            }
            outcomes = try bytes.array { (reader) throws(ModelError) in
                AnswerOutcome(
                    intent: try reader.string(),
                    outcome: try IntentOutcome(decoding: try reader.bytes()))
            }
            recordings = try bytes.array { (reader) throws(ModelError) in
                try AnswerRecording(decoding: &reader)
            }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(message: question)
            bytes.add(answer)
            bytes.add(removedAnswers) { $0.add($1) }
            bytes.add(recorded) { $1.encode(into: &$0) }
            bytes.add(outcomes) {
                $0.add($1.intent)
                $0.add($1.outcome.encoded)
            }
            bytes.add(recordings) { $1.encode(into: &$0) }
        }
    }

    /// Folds an observation, an upload, an outcome, or a change to a recording.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let observation = try event.decode(QuestionObserved.self).normalized()
            let postedAs = key.state.question.hasPostedAs ? key.state.question.postedAs : nil
            key.state.question = observation
            if let postedAs, !observation.hasPostedAs { key.state.question.postedAs = postedAs }
        case 1: key.state.take(try event.decode(AnswerObserved.self).normalized())
        case 2: key.state.take(try event.decode(AnswerUploaded.self).normalized())
        case 3:
            // Do not normalize, because older versions of this program accepted answers of exactly
            // the maximum duration.
            let recorded = try event.decode(AnswerRecorded.self)
            key.state.recorded = RecordedAnswer(
                event: event.id, at: Int64(event.stamp.milliseconds), recorded: recorded)
            if recorded.hasRecording {
                // Segments that arrive later also belong to the ended recording.
                key.state.change(recorded.recording, begunAt: 0) { $0.end() }
            }
        case 4:
            let segment = try event.decode(AnswerSegmentRecorded.self)
            key.state.change(segment.recording, begunAt: Int64(event.stamp.milliseconds)) {
                $0.take(segment)
            }
        case 5:
            let segment = try event.decode(AnswerSegmentRemoved.self)
            key.state.change(segment.recording) { $0.remove(segment.segment) }
        case 6:
            let merge = try event.decode(AnswerMergeStarted.self)
            key.state.change(merge.recording) { $0.merge(merge.segments) }
        case 7:
            let failure = try event.decode(AnswerMergeFailed.self)
            key.state.change(failure.recording) { $0.fail(failure.reason) }
        default:
            let told = try IntentOutcome.read(event.payload, order: event.order, of: nil)
            if let told { key.state.take(told.1, of: told.intent.utf8Text) }
        }
    }

    /// Adds rows for a question that a remote shows and has not removed, and for answers that
    /// cannot be watched yet.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        if state.isPending {
            func add(_ at: Int64, recording: String?) {
                var answer = StateWriter()
                answer.add(String(key.name))
                answer.add(recording)
                state.encode(into: &answer)
                rows.add(
                    table: Table.recorded,
                    key: RowKey().descending(at).text(key.name).text(recording ?? ""),
                    value: answer.bytes)
            }
            if let recorded = state.handedIn { add(recorded.at, recording: nil) }
            for recording in state.recordings where !recording.hasEnded {
                add(recording.at, recording: recording.name)
            }
        }
        guard state.isListed else { return }
        let number = NaturalID.number(key.name)
        let receiver = state.question.receiver
        for table in state.isPending ? [0, 2] : [0] {
            rows.add(
                table: table, key: RowKey().descending(number).text(key.name),
                value: value.bytes)
            rows.add(
                table: table + 1,
                key: RowKey().text(receiver).descending(number).text(key.name),
                value: value.bytes)
        }
    }
}

/// The outcome of a submitted answer.
struct AnswerOutcome: Equatable {
    /// The id of the event that submitted the answer.
    var intent: String
    var outcome: IntentOutcome
}

/// An answer recorded on one of the user's devices.
struct RecordedAnswer: Equatable {
    var event: EventID
    /// The time in Unix milliseconds.
    var at: Int64
    var recorded: AnswerRecorded

    init(event: EventID, at: Int64, recorded: AnswerRecorded) {
        self.event = event
        self.at = at
        self.recorded = recorded
    }

    init(decoding reader: inout StateReader) throws(ModelError) {
        event = try reader.eventID()
        at = try reader.int64()
        recorded = try reader.message()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(at)
        writer.add(message: recorded)
    }
}
