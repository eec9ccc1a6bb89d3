public import TapedeckModel
public import TapedeckProjections

/// Records that downloads were removed from a device's disk.
///
/// ```swift
/// try await store.decide { views in
///     let queries = VideoQueries(views)
///     let gone = try queries.evictions(DownloadBudget(bytesMax: 1 << 30), current: playing)
///     return try RemoveDownloads(gone).decide(queries)
/// }
/// ```
public struct RemoveDownloads: Sendable {
    /// The videos whose downloads were removed.
    public var videos: [VideoKey]
    /// The name of the device.
    public var device: String

    /// Creates a command.
    public init(_ videos: [VideoKey], device: String = Downloads.defaultDevice) {
        self.videos = videos
        self.device = device
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The video is not on the device's disk.
        case notOnDisk(VideoKey)

        /// The error message.
        public var message: String {
            switch self {
            case .notOnDisk(let video): "\(video.text) is not on the device's disk"
            }
        }

        /// The error code, `.notFound`.
        public var code: ErrorCode { .notFound }
    }

    /// Returns the events to record.
    ///
    /// Throws a `Refusal`, or errors from reading the store.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try decide { try queries.isOnDisk($0, device: device) }
    }

    /// Returns the events to record.
    ///
    /// - Parameter isOnDisk: Returns whether a video is on the device's disk.
    ///
    /// Throws a `Refusal`, or the errors from `isOnDisk`.
    public func decide(isOnDisk: (VideoKey) throws -> Bool) throws -> [any Event] {
        try videos.map { video in
            guard try isOnDisk(video) else { throw Refusal.notOnDisk(video) }
            return DownloadRemoved.with { ($0.device, $0.video) = (device, video.text) }
        }
    }
}
