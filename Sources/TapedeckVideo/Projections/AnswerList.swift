public import TapedeckModel
public import TapedeckProjections

/// The answers that were handed in, and what was said of them.
///
/// Items: `l` time event-id → author, text, as in `VideoList`. Table 0 holds the answers, the one
/// handed in last first.
public struct AnswerList: Projection {
    /// Makes the projection.
    public init() {}

    /// `answers`.
    public var name: String { "answers" }
    /// 1.
    public var version: Int { 1 }
    /// `answer`.
    public var tagKind: String { "answer" }
    /// What is handed in and what is said of it.
    public var eventTypes: [EventType] { [AnswerUploaded.eventType, CommentPosted.eventType] }
    /// One: the list.
    public var tables: [String] { ["newest-first"] }

    /// What is known of an answer.
    public struct State: ProjectionState, Equatable {
        /// Unix milliseconds of the first report; nil while there are comments only.
        var uploadedAt: Int64?
        var question: String?
        var durationSeconds: Double?
        var videoURL: String?
        var thumbnailURL: String?
        var comments: UInt64 = 0

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            uploadedAt = try bytes.optionalInt64()
            question = try bytes.optionalString()
            durationSeconds = try bytes.optionalDouble()
            videoURL = try bytes.optionalString()
            thumbnailURL = try bytes.optionalString()
            comments = try bytes.uint64()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(uploadedAt)
            bytes.add(question)
            bytes.add(durationSeconds)
            bytes.add(videoURL)
            bytes.add(thumbnailURL)
            bytes.add(comments)
        }
    }

    /// Folds a report or a comment; a field that a later report leaves out keeps its value.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        guard event.typeIndex == 0 else {
            let name = PostedComment.itemName(event)
            guard key.item(name) == nil else { return }
            key.setItem(name, try PostedComment(event.payload).encoded)
            key.state.comments += 1
            return
        }
        let answer = try event.decode(AnswerUploaded.self).normalized()
        if key.state.uploadedAt == nil { key.state.uploadedAt = Int64(event.stamp.milliseconds) }
        key.state.question = answer.question
        if answer.hasDurationSeconds { key.state.durationSeconds = answer.durationSeconds }
        if answer.hasVideoURL { key.state.videoURL = answer.videoURL }
        if answer.hasThumbnailURL { key.state.thumbnailURL = answer.thumbnailURL }
    }

    /// One row for an answer that was handed in.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard let uploadedAt = state.uploadedAt else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: RowKey().descending(uploadedAt).text(key.name), value: value.bytes)
    }
}
