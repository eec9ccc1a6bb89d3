public import TapedeckModel

extension NowPlayingChanged: VideoEvent {
    /// The event type `NowPlayingChanged`.
    public static let eventType: EventType = "NowPlayingChanged"

    /// `.latest`: the newest report of a device supersedes earlier ones.
    public static var retention: Retention { .latest }

    /// The tags of the device and, if there is one, the video.
    public var tags: [Tag] {
        get throws {
            [try Tag("device", device)] + (hasVideo ? [try VideoKey(video).tag] : [])
        }
    }

    /// Checks the device and the video, and that the fields about a video are set only if there is
    /// a video.
    public func normalized() throws(ModelError) -> NowPlayingChanged {
        var copy = self
        try FieldChecks.id(device, "device")
        guard hasVideo else {
            for (isThere, field) in [
                (hasViewing, "viewing"), (positionSeconds != 0, "positionSeconds"),
                (isPlaying, "isPlaying"),
            ] where isThere {
                throw FieldChecks.invalid(field, "requires a video")
            }
            return copy
        }
        copy.video = try FieldChecks.video(video, "video").text
        if hasViewing { try FieldChecks.id(viewing, "viewing") }
        try FieldChecks.seconds(positionSeconds, "positionSeconds")
        return copy
    }
}
