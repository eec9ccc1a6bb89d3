public import TapedeckModel

extension CommentObserved: Observation, SubjectEvent {
    /// The event type `CommentObserved`.
    public static let eventType: EventType = "CommentObserved"

    /// The tag of the video or the answer.
    public var tags: [Tag] { get throws { try subjectTags } }

    /// The entity name, `comment/<system>:<id>`.
    public var entity: String { "comment/\(comment)" }

    /// Always nil, because no remote assigns versions to its comments.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids, the text fields and the time.
    public func normalized() throws(ModelError) -> CommentObserved {
        var copy = self
        try FieldChecks.id(comment, "comment")
        try copy.normalizeSubject()
        try FieldChecks.text(text, "text")
        try FieldChecks.text(author, "author")
        if hasCreatedAt { try FieldChecks.time(createdAt, "createdAt") }
        if hasConversation { try FieldChecks.id(conversation, "conversation") }
        if hasPostedAs { try FieldChecks.eventID(postedAs, "postedAs") }
        return copy
    }
}
