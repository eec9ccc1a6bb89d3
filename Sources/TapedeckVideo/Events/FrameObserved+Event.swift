public import TapedeckModel

extension FrameObserved: Observation {
    /// The event type `FrameObserved`.
    public static let eventType: EventType = "FrameObserved"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `shelby/frame/<id>`.
    public var entity: String { "shelby/frame/\(frame)" }

    /// Always nil, because the remote does not version its frames.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids, the title and the times.
    public func normalized() throws(ModelError) -> FrameObserved {
        var copy = self
        try FieldChecks.id(frame, "frame")
        copy.video = try FieldChecks.video(video, "video").text
        if hasConversation { try FieldChecks.id(conversation, "conversation") }
        if hasCreator { try FieldChecks.id(creator, "creator") }
        try FieldChecks.text(title, "title")
        if hasFirstUnplayableAt { try FieldChecks.time(firstUnplayableAt, "firstUnplayableAt") }
        if hasLastUnplayableAt { try FieldChecks.time(lastUnplayableAt, "lastUnplayableAt") }
        return copy
    }
}
