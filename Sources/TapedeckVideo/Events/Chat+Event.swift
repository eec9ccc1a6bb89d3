public import TapedeckModel

extension ChatMessagePosted: VideoEvent {
    /// The event type `ChatMessagePosted`.
    public static let eventType: EventType = "ChatMessagePosted"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks that either `text` or `file` is set, but not both, and that `text` is not blank.
    public func normalized() throws(ModelError) -> ChatMessagePosted {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        guard hasText != hasFile else {
            throw FieldChecks.invalid("text", "or file must be given, but not both")
        }
        if hasText { try FieldChecks.saying(text, "text") }
        if hasFile { try file.check() }
        if hasSender { try FieldChecks.id(sender, "sender") }
        return copy
    }
}

extension ChatMessageObserved: Observation {
    /// The event type `ChatMessageObserved`.
    public static let eventType: EventType = "ChatMessageObserved"

    /// The kinds of messages.
    static let kindsKnown: Set<String> = ["text", "file", "system", "broadcast"]

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `birdtube/message/<number>`.
    public var entity: String { "birdtube/message/\(message)" }

    /// Always nil, because the remote does not version its messages.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the number, the time, the kind, the text fields and the URLs.
    public func normalized() throws(ModelError) -> ChatMessageObserved {
        var copy = self
        try FieldChecks.id(message, "message")
        copy.video = try FieldChecks.video(video, "video").text
        guard !hasKind || ChatMessageObserved.kindsKnown.contains(kind) else {
            throw FieldChecks.invalid(
                "kind",
                "is \"\(kind.prefix(40))\"; valid kinds are "
                    + ChatMessageObserved.kindsKnown.sorted().joined(separator: ", "))
        }
        try FieldChecks.text(text, "text")
        if hasFile { try file.check() }
        if hasSender { try FieldChecks.id(sender, "sender") }
        try FieldChecks.text(senderName, "senderName")
        if hasSenderImage { try FieldChecks.url(senderImage, "senderImage") }
        guard hasAt else { throw FieldChecks.invalid("at", "is missing") }
        try FieldChecks.time(at, "at")
        if hasTempID { try FieldChecks.id(tempID, "tempId") }
        if hasPostedAs { try FieldChecks.eventID(postedAs, "postedAs") }
        return copy
    }

    /// The id of the user's event that the remote published as this message; nil if there is none.
    var posted: EventID? {
        hasPostedAs ? EventID(postedAs) : hasTempID ? EventID(tempID) : nil
    }
}

extension ChatFile {
    /// Checks the URL, the name and the type.
    func check() throws(ModelError) {
        try FieldChecks.url(url, "file.url")
        try FieldChecks.text(name, "file.name")
        try FieldChecks.text(type, "file.type")
    }
}
