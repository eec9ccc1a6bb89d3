public import TapedeckModel

extension VideoOpened: VideoEvent {
    /// The event type `VideoOpened`.
    public static let eventType: EventType = "VideoOpened"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// Checks the video, the viewer and the viewing.
    public func normalized() throws(ModelError) -> VideoOpened {
        var copy = self
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.id(viewer, "viewer")
        try FieldChecks.id(viewing, "viewing")
        return copy
    }
}
