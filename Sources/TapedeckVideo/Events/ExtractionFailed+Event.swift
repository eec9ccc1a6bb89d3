public import TapedeckModel

extension ExtractionFailed: VideoEvent {
    /// The event type `ExtractionFailed`.
    public static let eventType: EventType = "ExtractionFailed"

    /// `.latest`: the newest failure of a video supersedes earlier ones.
    public static var retention: Retention { .latest }

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the reason and the delay.
    public func normalized() throws(ModelError) -> ExtractionFailed {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.reason(reason, "reason")
        if hasRetryAfterSeconds {
            try FieldChecks.seconds(retryAfterSeconds, "retryAfterSeconds")
        }
        return copy
    }
}
