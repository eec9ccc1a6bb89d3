public import TapedeckModel

extension ChatMessagePosted: VideoEvent {
    /// `ChatMessagePosted`.
    public static let eventType: EventType = "ChatMessagePosted"

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks that a text that says something or a file is sent, and not both.
    public func normalized() throws(ModelError) -> ChatMessagePosted {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        guard hasText != hasFile else {
            throw FieldChecks.invalid("text", "or file must be given, and not both")
        }
        if hasText { try FieldChecks.saying(text, "text") }
        if hasFile { try file.check() }
        if hasSender { try FieldChecks.id(sender, "sender") }
        return copy
    }
}

extension ChatMessageObserved: Observation {
    /// `ChatMessageObserved`.
    public static let eventType: EventType = "ChatMessageObserved"

    /// The kinds of messages.
    static let kindsKnown: Set<String> = ["text", "file", "system", "broadcast"]

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// `birdtube/message/<number>`.
    public var entity: String { "birdtube/message/\(message)" }

    /// None: the remote tells of no changes.
    public var remoteVersion: UInt64? { nil }

    /// Sightings are told apart by the time at which they were made, in milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the number, the time, the kind, the texts and the addresses.
    public func normalized() throws(ModelError) -> ChatMessageObserved {
        var copy = self
        try FieldChecks.id(message, "message")
        copy.video = try FieldChecks.video(video, "video").text
        guard !hasKind || ChatMessageObserved.kindsKnown.contains(kind) else {
            throw FieldChecks.invalid(
                "kind",
                "is \"\(kind.prefix(40))\"; known are "
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

    /// The event of this user that it came of.
    var posted: EventID? {
        hasPostedAs ? EventID(postedAs) : hasTempID ? EventID(tempID) : nil
    }
}

extension ChatFile {
    /// Checks the address, the name and the type.
    func check() throws(ModelError) {
        try FieldChecks.url(url, "file.url")
        try FieldChecks.text(name, "file.name")
        try FieldChecks.text(type, "file.type")
    }
}
