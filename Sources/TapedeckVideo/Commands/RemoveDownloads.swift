public import TapedeckModel
public import TapedeckProjections

/// Records that downloads were taken off a device's disk.
///
/// ```swift
/// try await store.decide { views in
///     let queries = VideoQueries(views)
///     let gone = try queries.evictions(DownloadBudget(bytesMax: 1 << 30), current: playing)
///     return try RemoveDownloads(gone).decide(queries)
/// }
/// ```
public struct RemoveDownloads: Sendable {
    /// The videos.
    public var videos: [VideoKey]
    /// The device.
    public var device: String

    /// Makes a command.
    public init(_ videos: [VideoKey], device: String = Downloads.defaultDevice) {
        self.videos = videos
        self.device = device
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// The device's disk does not hold this video.
        case notOnDisk(VideoKey)

        /// What does not allow it.
        public var message: String {
            switch self {
            case .notOnDisk(let video): "the device's disk does not hold \(video.text)"
            }
        }

        /// `.notFound`.
        public var code: ErrorCode { .notFound }
    }

    /// What is to be recorded; throws a `Refusal`, or what reading throws.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        try decide { try queries.isOnDisk($0, device: device) }
    }

    /// What is to be recorded, of whether the device's disk holds a video.
    public func decide(isOnDisk: (VideoKey) throws -> Bool) throws -> [any Event] {
        try videos.map { video in
            guard try isOnDisk(video) else { throw Refusal.notOnDisk(video) }
            return DownloadRemoved.with { ($0.device, $0.video) = (device, video.text) }
        }
    }
}
