public import TapedeckModel

extension BroadcastReceived: Observation {
    /// The event type `BroadcastReceived`.
    public static let eventType: EventType = "BroadcastReceived"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `shelby/broadcast/<id>`.
    public var entity: String { "shelby/broadcast/\(broadcast)" }

    /// The time at which the remote last changed the broadcast or, if that time is unknown, the
    /// time of the share, in milliseconds since 1970.
    public var remoteVersion: UInt64? {
        let time =
            hasUpdatedAt ? updatedAt.milliseconds : hasCreatedAt ? createdAt.milliseconds : nil
        return time.map { UInt64(max(0, $0)) }
    }

    /// Always 1, because versions are in milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the ids, the text fields and the times.
    public func normalized() throws(ModelError) -> BroadcastReceived {
        try FieldChecks.id(broadcast, "broadcast")
        let key = try FieldChecks.video(video, "video").text
        try FieldChecks.text(title, "title")
        try FieldChecks.text(sharer, "sharer")
        try FieldChecks.text(origin, "origin")
        try FieldChecks.text(comment, "comment")
        if hasSharerImageURL { try FieldChecks.webURL(sharerImageURL, "sharerImageUrl") }
        if hasShortLink { try FieldChecks.webURL(shortLink, "shortLink") }
        if hasMessage { try FieldChecks.id(message, "message") }
        if hasChannel { try FieldChecks.id(channel, "channel") }
        try FieldChecks.time(createdAt, "createdAt")
        try FieldChecks.time(updatedAt, "updatedAt")
        // Remotes usually report the video's key. Return early then, because changing a copy would
        // copy all fields.
        if video == key { return self }
        var copy = self
        copy.video = key
        return copy
    }
}
