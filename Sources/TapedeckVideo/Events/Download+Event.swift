public import TapedeckModel

extension DownloadCompleted: VideoEvent {
    /// The event type `DownloadCompleted`.
    public static let eventType: EventType = "DownloadCompleted"

    /// The maximum size of a download in bytes: one pebibyte.
    public static let bytesMax: UInt64 = 1 << 50

    /// The tags of the device and the video.
    public var tags: [Tag] {
        get throws { [try Downloads.tag(device), try VideoKey(video).tag] }
    }

    /// Checks the device, the video and the file.
    public func normalized() throws(ModelError) -> DownloadCompleted {
        var copy = self
        copy.device = try FieldChecks.device(device)
        copy.video = try FieldChecks.video(video, "video").text
        try FieldChecks.digest(blob, "blob")
        guard bytes <= DownloadCompleted.bytesMax else {
            throw ModelError(
                .tooLarge, "bytes is \(bytes); the limit is \(DownloadCompleted.bytesMax)")
        }
        return copy
    }
}

extension DownloadRemoved: VideoEvent {
    /// The event type `DownloadRemoved`.
    public static let eventType: EventType = "DownloadRemoved"

    /// The tags of the device and the video.
    public var tags: [Tag] {
        get throws { [try Downloads.tag(device), try VideoKey(video).tag] }
    }

    /// Checks the device and the video.
    public func normalized() throws(ModelError) -> DownloadRemoved {
        var copy = self
        copy.device = try FieldChecks.device(device)
        copy.video = try FieldChecks.video(video, "video").text
        return copy
    }
}

extension FieldChecks {
    /// Checks a device's name and returns it; an empty name becomes the account's default device.
    static func device(_ value: String) throws(ModelError) -> String {
        if value.isEmpty { return Downloads.defaultDevice }
        try id(value, "device")
        return value
    }
}
