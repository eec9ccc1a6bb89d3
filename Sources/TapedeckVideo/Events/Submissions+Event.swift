public import TapedeckModel

extension VideoSubmitted: VideoEvent {
    /// The event type `VideoSubmitted`.
    public static let eventType: EventType = "VideoSubmitted"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video.isEmpty ? url : video).tag] } }

    /// Checks the text fields, and that the key or URL identifies a YouTube video.
    ///
    /// If the key is missing, it is derived from the URL. Throws `ModelError` with `.invalidVideo`
    /// for a video from another provider, and with `.invalidPayload` if the key and the URL name
    /// different videos.
    public func normalized() throws(ModelError) -> VideoSubmitted {
        var copy = self
        let field = video.isEmpty ? "url" : "video"
        let key = try FieldChecks.video(video.isEmpty ? url : video, field)
        guard key.provider == "youtube" else {
            throw ModelError(
                .invalidVideo, "\(field): only YouTube videos can be submitted",
                hint: "use the URL of the video's page on youtube.com")
        }
        copy.video = key.text
        if !url.isEmpty {
            guard try FieldChecks.video(url, "url") == key else {
                throw FieldChecks.invalid("url", "and video name different videos")
            }
            try FieldChecks.url(url, "url")
        }
        try FieldChecks.text(title, "title")
        if hasThumbnail { try FieldChecks.url(thumbnail, "thumbnail") }
        return copy
    }
}

extension SubmissionObserved: Observation {
    /// The event type `SubmissionObserved`.
    public static let eventType: EventType = "SubmissionObserved"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `birdtube/video/<key>`; the remote lists each video only once.
    public var entity: String { "birdtube/video/\((try? VideoKey(video).text) ?? video)" }

    /// Always nil, because the remote does not update its modification times when a video gets new
    /// views.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the video, the text fields, the URLs and the time.
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
