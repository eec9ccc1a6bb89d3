public import TapedeckModel

extension VideoSubmitted: VideoEvent {
    /// `VideoSubmitted`.
    public static let eventType: EventType = "VideoSubmitted"

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video.isEmpty ? url : video).tag] } }

    /// Checks that a video of YouTube is named, by its key or its address, and the texts.
    ///
    /// Where the key is missing it is made of the address. Throws `ModelError` with `.invalidVideo` for a
    /// video of another provider, and with `.invalidPayload` where the two name different ones.
    public func normalized() throws(ModelError) -> VideoSubmitted {
        var copy = self
        let field = video.isEmpty ? "url" : "video"
        let key = try FieldChecks.video(video.isEmpty ? url : video, field)
        guard key.provider == "youtube" else {
            throw ModelError(
                .invalidVideo, "\(field): only videos of YouTube can be handed in",
                hint: "give the address of its page at youtube.com")
        }
        copy.video = key.text
        if !url.isEmpty {
            guard try FieldChecks.video(url, "url") == key else {
                throw FieldChecks.invalid("url", "names another video than video does")
            }
            try FieldChecks.url(url, "url")
        }
        try FieldChecks.text(title, "title")
        if hasThumbnail { try FieldChecks.url(thumbnail, "thumbnail") }
        return copy
    }
}

extension SubmissionObserved: Observation {
    /// `SubmissionObserved`.
    public static let eventType: EventType = "SubmissionObserved"

    /// The video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// `birdtube/video/<key>`: the remote has each video once.
    public var entity: String { "birdtube/video/\((try? VideoKey(video).text) ?? video)" }

    /// None: what the remote tells of changes leaves the views out.
    public var remoteVersion: UInt64? { nil }

    /// Sightings are told apart by the time at which they were made, in milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the video, the texts, the addresses and the time.
    public func normalized() throws(ModelError) -> SubmissionObserved {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        if hasURL { try FieldChecks.url(url, "url") }
        try FieldChecks.text(title, "title")
        if hasThumbnail { try FieldChecks.url(thumbnail, "thumbnail") }
        if hasOwner { try FieldChecks.id(owner, "owner") }
        if hasCreatedAt { try FieldChecks.time(createdAt, "createdAt") }
        if hasChannel { try FieldChecks.url(channel, "channel") }
        if hasPostedAs { try FieldChecks.eventID(postedAs, "postedAs") }
        return copy
    }
}
