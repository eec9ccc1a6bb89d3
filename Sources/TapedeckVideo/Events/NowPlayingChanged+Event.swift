public import TapedeckModel

extension NowPlayingChanged: VideoEvent {
    /// `NowPlayingChanged`.
    public static let eventType: EventType = "NowPlayingChanged"

    /// What a device plays last stands for all before it.
    public static var retention: Retention { .latest }

    /// The device, and the video where there is one.
    public var tags: [Tag] {
        get throws {
            [try Tag("device", device)] + (hasVideo ? [try VideoKey(video).tag] : [])
        }
    }

    /// Checks the device, and that nothing is said of a video where there is none.
    public func normalized() throws(ModelError) -> NowPlayingChanged {
        var copy = self
        try FieldChecks.id(device, "device")
        guard hasVideo else {
            for (isThere, field) in [
                (hasViewing, "viewing"), (positionSeconds != 0, "positionSeconds"),
                (isPlaying, "isPlaying"),
            ] where isThere {
                throw FieldChecks.invalid(field, "belongs to a video, and none is named")
            }
            return copy
        }
        copy.video = try FieldChecks.video(video, "video").text
        if hasViewing { try FieldChecks.id(viewing, "viewing") }
        try FieldChecks.seconds(positionSeconds, "positionSeconds")
        return copy
    }
}
