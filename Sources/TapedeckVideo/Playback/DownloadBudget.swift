/// The total size of downloads that a device keeps, and the order in which downloads are removed
/// above it.
///
/// The current video is never removed. Watched videos are removed first, then the others, oldest
/// first in both groups, and no more than necessary.
public struct DownloadBudget: Hashable, Sendable {
    /// The maximum total size in bytes.
    public var bytesMax: UInt64

    /// Creates a budget.
    public init(bytesMax: UInt64) { self.bytesMax = bytesMax }

    /// A download that may be removed.
    public struct Candidate: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// The size in bytes.
        public var bytes: UInt64
        /// The time at which the download was completed.
        public var at: UTCTime
        /// Whether the video was watched to the end.
        public var isWatched: Bool

        /// Creates a candidate.
        public init(_ video: VideoKey, bytes: UInt64, at: UTCTime, isWatched: Bool) {
            self.video = video
            self.bytes = bytes
            self.at = at
            self.isWatched = isWatched
        }
    }

    /// Returns the videos to remove from the disk, in this order, so that a download of `newBytes`
    /// fits as well.
    ///
    /// If the current video alone exceeds the budget, all other videos are removed. Costs sorting
    /// the downloads.
    public func evictions(
        _ downloads: [Candidate], current: VideoKey?, newBytes: UInt64 = 0
    ) -> [VideoKey] {
        var total = downloads.reduce(newBytes) { sum, download in
            let (grown, isOver) = sum.addingReportingOverflow(download.bytes)
            return isOver ? .max : grown
        }
        var evicted: [VideoKey] = []
        let order = downloads.sorted {
            if $0.isWatched != $1.isWatched { return $0.isWatched }
            return ($0.at, $0.video.text) < ($1.at, $1.video.text)
        }
        for download in order where download.video != current && download.bytes > 0 {
            guard total > bytesMax else { break }
            total -= min(total, download.bytes)
            evicted.append(download.video)
        }
        return evicted
    }
}
