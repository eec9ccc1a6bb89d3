/// The actions that `ExtractionPolicy` plans at a given time.
public struct ExtractionPlan: Hashable, Sendable {
    /// The running extraction to cancel; nil if there is none.
    public var cancelled: Cancellation?
    /// The video whose running extraction continues; nil if there is none.
    public var continuing: VideoKey?
    /// The video to extract now; nil if an extraction continues or there is nothing to extract.
    public var run: VideoKey?
    /// The time at which the continuing or new extraction times out; nil if there is no extraction.
    public var timesOutAt: UTCTime?
    /// The videos to extract afterwards, in this order.
    public var waiting: [VideoKey] = []
    /// The wanted videos that are not extracted, in the order of the list.
    public var skipped: [Skip] = []
    /// The next time at which the plan may change merely because time has passed; nil if there is
    /// none.
    public var nextChangeAt: UTCTime?

    /// Creates an empty plan.
    public init() {}

    /// An extraction to cancel.
    public struct Cancellation: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// The reason for the cancellation.
        public var reason: Reason

        /// Creates a cancellation.
        public init(video: VideoKey, reason: Reason) {
            self.video = video
            self.reason = reason
        }

        /// A reason to cancel an extraction.
        public enum Reason: String, Codable, Sendable {
            /// The extraction timed out: record that it failed.
            case timedOut
            /// A video earlier in the list has to be extracted first.
            case overtaken
            /// The video's content is now available, or another device's attempt has failed.
            case notNeeded
            /// The network no longer permits the extraction.
            case network
            /// The video is neither the current one nor one of the next videos to extract.
            case unwanted
        }
    }

    /// A video that is not extracted.
    public struct Skip: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// The reason for skipping the video.
        public var reason: Reason
        /// The time until which the video is skipped; nil if the reason does not expire.
        public var until: UTCTime?
        /// The reason why the last attempt failed; nil unless `reason` is `failed`.
        public var failure: String?

        /// Creates a skip.
        public init(
            video: VideoKey, reason: Reason, until: UTCTime? = nil, failure: String? = nil
        ) {
            self.video = video
            self.reason = reason
            self.until = until
            self.failure = failure
        }

        /// A reason to skip a video.
        public enum Reason: String, Codable, Sendable {
            /// The video is downloaded.
            case onDisk
            /// The video's content URL is valid.
            case cached
            /// The last attempt failed, and the next attempt is not due.
            case failed
            /// The running extraction has just timed out.
            case timedOut
            /// The network is metered, and the video is not the current one.
            case metered
            /// There is no network.
            case offline
        }
    }
}

extension UTCTime {
    /// Returns the time that is the given number of seconds later.
    func adding(seconds: Double) -> UTCTime {
        UTCTime(milliseconds: milliseconds + Int64(seconds * 1_000))
    }
}
