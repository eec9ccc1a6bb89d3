/// How many bytes of downloads a device keeps, and which go where there are more.
///
/// Never the video that plays; first those that were watched to their end, then the others, the oldest first
/// among each; and no more than has to go.
public struct DownloadBudget: Hashable, Sendable {
    /// The most bytes that stay.
    public var bytesMax: UInt64

    /// Makes a budget.
    public init(bytesMax: UInt64) { self.bytesMax = bytesMax }

    /// A download, as far as it matters here.
    public struct Candidate: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// How large it is.
        public var bytes: UInt64
        /// When it was completed.
        public var at: UTCTime
        /// Whether it was watched to its end.
        public var isWatched: Bool

        /// Makes a candidate.
        public init(_ video: VideoKey, bytes: UInt64, at: UTCTime, isWatched: Bool) {
            self.video = video
            self.bytes = bytes
            self.at = at
            self.isWatched = isWatched
        }
    }

    /// The videos to take off the disk, in this order, so that a download of `newBytes` fits as well.
    ///
    /// Where the one that plays is too large by itself all others go. Costs sorting the downloads.
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
