internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The questions that remotes tell of, and how far their answers are.
///
/// A question is pending while it has no answer that anybody can watch. Remotes tell no times, so lists are
/// by the questions' numbers, the greatest first. Questions that were asked here and that no remote has shown
/// lie in `UserList`, as they have no number yet.
public struct QuestionList: Projection {
    /// Makes the projection.
    public init() {}

    /// `questions`.
    public var name: String { "questions" }
    /// 2.
    public var version: Int { 2 }
    /// `question`.
    public var tagKind: String { "question" }
    /// What is asked, and what is answered.
    public var eventTypes: [EventType] {
        [
            QuestionObserved.eventType, AnswerObserved.eventType, AnswerUploaded.eventType,
            AnswerRecorded.eventType,
        ]
    }
    /// Five: all, those to one receiver, the pending ones of both, and answers that wait to be shown.
    public var tables: [String] {
        ["newest-first", "by-receiver", "pending", "pending-by-receiver", "recorded"]
    }

    /// What is known of a question.
    public struct State: ProjectionState, Equatable {
        /// All that remotes have shown; its `question` is empty while they have shown nothing.
        var question = QuestionObserved()
        /// The id of its answer, once there is one.
        var answer: String?
        /// The answer that was recorded here last, and by which event.
        var recorded: RecordedAnswer?

        /// Nothing.
        public init() {}

        /// Whether nobody can watch an answer.
        var isPending: Bool { answer == nil }

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            question = try bytes.message()
            answer = try bytes.optionalString()
            recorded = try bytes.optional { (reader) throws(ModelError) in
                try RecordedAnswer(decoding: &reader)
            }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(message: question)
            bytes.add(answer)
            bytes.add(recorded) { $1.encode(into: &$0) }
        }
    }

    /// Folds a sighting, a report or a recording.
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
        default:
            key.state.recorded = RecordedAnswer(
                event: event.id, at: Int64(event.stamp.milliseconds),
                recorded: try event.decode(AnswerRecorded.self).normalized())
        }
    }

    /// Rows for a question that was shown, and for an answer that waits to be.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        var value = StateWriter()
        state.encode(into: &value)
        if let recorded = state.recorded, state.isPending {
            rows.add(
                table: 4, key: RowKey().descending(recorded.at).text(key.name),
                value: value.bytes)
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
