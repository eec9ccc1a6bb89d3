internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The questions that remotes tell of, and how far their answers are.
///
/// A question is pending while it has no answer that anybody can watch. Answers to it are recorded by segments
/// (`AnswerRecording`), merged and handed in; all of that lies here, as the answer has no id of its own before
/// a remote shows it. Remotes tell no times, so lists are by the questions' numbers, the greatest first.
/// Questions that were asked here and that no remote has shown lie in `UserList`, as they have no number yet.
public struct QuestionList: Projection {
    /// Makes the projection.
    public init() {}

    /// `questions`.
    public var name: String { "questions" }
    /// 3.
    public var version: Int { 3 }
    /// `question`.
    public var tagKind: String { "question" }
    /// What is asked, what is answered, and what became of answers that were handed in.
    public var eventTypes: [EventType] {
        [
            QuestionObserved.eventType, AnswerObserved.eventType, AnswerUploaded.eventType,
            AnswerRecorded.eventType, AnswerSegmentRecorded.eventType,
            AnswerSegmentRemoved.eventType, AnswerMergeStarted.eventType,
            AnswerMergeFailed.eventType, IntentOutcome.eventType,
        ]
    }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        A question is as its newest sighting shows it, and answered once an answer to it was \
        shown or handed in; until then the answer recorded here says how far it is.
        """
    }
    /// Five: all, those to one receiver, the pending ones of both, and answers that nobody can watch: those that
    /// are recorded, and the one that was handed in last.
    public var tables: [String] {
        ["newest-first", "by-receiver", "pending", "pending-by-receiver", "recorded"]
    }

    enum Table {
        static let recorded = 4

        /// The questions that remotes show.
        static func listed(isPending: Bool, byReceiver: Bool) -> Int {
            (isPending ? 2 : 0) + (byReceiver ? 1 : 0)
        }
    }

    /// What is known of a question.
    public struct State: ProjectionState, Equatable {
        /// All that remotes have shown; its `question` is empty while they have shown nothing.
        var question = QuestionObserved()
        /// The id of its answer, once there is one.
        var answer: String?
        /// The answer that was recorded here last, and by which event.
        var recorded: RecordedAnswer?
        /// What became of answers that were handed in, by their events.
        private(set) var outcomes: [AnswerOutcome] = []
        /// Answers that are recorded, and those that were, in the order in which they were begun.
        private(set) var recordings: [AnswerRecording] = []

        /// Nothing.
        public init() {}

        /// Whether nobody can watch an answer.
        var isPending: Bool { answer == nil }

        /// What became of the answer that was recorded last.
        var outcome: IntentOutcome? {
            recorded.flatMap { recorded in
                outcomes.first { $0.intent == recorded.event.description }?.outcome
            }
        }

        /// The answer that was recorded last, unless the user has given it up.
        var handedIn: RecordedAnswer? { outcome?.kind == .dropped ? nil : recorded }

        /// Whether an answer was handed in that may yet be shown.
        var isAnswering: Bool { handedIn != nil && outcome?.kind != .refused }

        /// A recording that goes on.
        func recording(_ name: String) -> AnswerRecording? {
            recordings.first { $0.name == name && !$0.hasEnded }
        }

        fileprivate mutating func take(_ outcome: IntentOutcome, of intent: String) {
            outcomes.removeAll { $0.intent == intent }
            outcomes.append(AnswerOutcome(intent: intent, outcome: outcome))
        }

        /// Changes a recording that goes on; one that is not there is begun where a time is given.
        ///
        /// One that is left without segments is forgotten.
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

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            question = try bytes.message()
            answer = try bytes.optionalString()
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

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(message: question)
            bytes.add(answer)
            bytes.add(recorded) { $1.encode(into: &$0) }
            bytes.add(outcomes) {
                $0.add($1.intent)
                $0.add($1.outcome.encoded)
            }
            bytes.add(recordings) { $1.encode(into: &$0) }
        }
    }

    /// Folds a sighting, a report, an outcome, or what is done to a recording.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let sighting = try event.decode(QuestionObserved.self).normalized()
            let postedAs = key.state.question.hasPostedAs ? key.state.question.postedAs : nil
            key.state.question = sighting
            if let postedAs, !sighting.hasPostedAs { key.state.question.postedAs = postedAs }
        case 1: key.state.answer = try event.decode(AnswerObserved.self).normalized().answer
        case 2:
            if key.state.answer == nil {
                key.state.answer = try event.decode(AnswerUploaded.self).normalized().answer
            }
        case 3:
            // An older program took one of exactly the longest duration, too.
            let recorded = try event.decode(AnswerRecorded.self)
            key.state.recorded = RecordedAnswer(
                event: event.id, at: Int64(event.stamp.milliseconds), recorded: recorded)
            if recorded.hasRecording {
                // Also where its segments come later: they are a part of it.
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

    /// Rows for a question that was shown, and for answers that nobody can watch.
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
        guard !state.question.question.isEmpty else { return }
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

/// What became of an answer that was handed in.
struct AnswerOutcome: Equatable {
    /// The id of the event by which it was.
    var intent: String
    var outcome: IntentOutcome
}

/// An answer that was recorded here.
struct RecordedAnswer: Equatable {
    var event: EventID
    /// Unix milliseconds.
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
