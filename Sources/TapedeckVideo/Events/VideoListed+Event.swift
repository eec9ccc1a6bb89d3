public import TapedeckModel

extension VideoListed: Observation {
    /// The event type `VideoListed`.
    public static let eventType: EventType = "VideoListed"

    /// The tag of the video.
    public var tags: [Tag] { get throws { [try VideoKey(video).tag] } }

    /// The entity name, `list/<list>/<entry>`.
    public var entity: String { "list/\(list)/\(entry)" }

    /// Always nil, because remotes do not version the entries of lists.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the list, the entry, the video and the time.
    public func normalized() throws(ModelError) -> VideoListed {
        var copy = self
        guard case .listed? = VideoGroup(list) else {
            throw FieldChecks.invalid(
                "list", "is not one of stream, personal-roll, dashboard/ID or roll/ID")
        }
        try FieldChecks.id(entry, "entry")
        copy.video = try FieldChecks.video(video, "video").text
        if hasListedAt { try FieldChecks.time(listedAt, "listedAt") }
        return copy
    }
}
