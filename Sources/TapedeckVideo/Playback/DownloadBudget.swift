/// A limit on the total size of a device's downloads, used to determine which downloads to remove.
///
/// The current video is never removed. Watched videos are removed before unwatched videos; within
/// each group, the oldest downloads are removed first. No more videos are removed than necessary.
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

    /// Returns the videos to remove from the disk, in order, to make room for a new download of
    /// `newBytes`.
    ///
    /// If the current video alone exceeds the budget, all other videos are removed. The cost is
    /// that of sorting the downloads.
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
