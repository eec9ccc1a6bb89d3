public import TapedeckModel

extension VideoDescribed: Observation {
    /// The event type `VideoDescribed`.
    public static let eventType: EventType = "VideoDescribed"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `shelby/video/<key>`.
    public var entity: String { "shelby/video/\((try? VideoKey(video).text) ?? video)" }

    /// Always nil, because remotes do not version their descriptions.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the video, the text fields, the URL and the duration.
    public func normalized() throws(ModelError) -> VideoDescribed {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.text(title, "title")
        if hasThumbnailURL { try FieldChecks.webURL(thumbnailURL, "thumbnailUrl") }
        try FieldChecks.text(description_p, "description")
        if hasDurationSeconds {
            try FieldChecks.seconds(durationSeconds, "durationSeconds")
            guard durationSeconds > 0 else {
                throw FieldChecks.invalid("durationSeconds", "is not above 0")
            }
        }
        return copy
    }
}
