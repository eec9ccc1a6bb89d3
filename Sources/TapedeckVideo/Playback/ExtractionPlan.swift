/// What `ExtractionPolicy` says is to be done at a moment.
public struct ExtractionPlan: Hashable, Sendable {
    /// What runs and is to be cancelled; nil where nothing is.
    public var cancelled: Cancellation?
    /// What runs and is to go on.
    public var continuing: VideoKey?
    /// What is to be begun; nil where something goes on, or nothing is left.
    public var run: VideoKey?
    /// When what runs is given up.
    public var timesOutAt: UTCTime?
    /// What comes behind it, in this order.
    public var waiting: [VideoKey] = []
    /// What is wanted and is not extracted, in the order of the list.
    public var skipped: [Skip] = []
    /// When the plan may be another one by the time alone; nil where it never is.
    public var nextChangeAt: UTCTime?

    /// Makes a plan that says nothing.
    public init() {}

    /// What is to be cancelled.
    public struct Cancellation: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// Why.
        public var reason: Reason

        /// Makes one.
        public init(video: VideoKey, reason: Reason) {
            self.video = video
            self.reason = reason
        }

        /// Why something is cancelled.
        public enum Reason: String, Codable, Sendable {
            /// It has run for too long: record that it failed.
            case timedOut
            /// A video that comes earlier has to be extracted.
            case overtaken
            /// It is at hand by now, or another device's try has failed.
            case notNeeded
            /// The network is not one for it any more.
            case network
            /// It is neither the current video nor one of the next.
            case unwanted
        }
    }

    /// What is not extracted.
    public struct Skip: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// Why.
        public var reason: Reason
        /// Until when; nil where time does not end it.
        public var until: UTCTime?
        /// Why the last try failed; nil for other reasons.
        public var failure: String?

        /// Makes one.
        public init(
            video: VideoKey, reason: Reason, until: UTCTime? = nil, failure: String? = nil
        ) {
            self.video = video
            self.reason = reason
            self.until = until
            self.failure = failure
        }

        /// Why something is not extracted.
        public enum Reason: String, Codable, Sendable {
            /// The video was downloaded.
            case onDisk
            /// Its address is good.
            case cached
            /// The last try failed, and the next one is not due.
            case failed
            /// It has run for too long just now.
            case timedOut
            /// The network is metered, and it is not the current video.
            case metered
            /// There is no network.
            case offline
        }
    }
}

extension UTCTime {
    /// The moment so many seconds later.
    func adding(seconds: Double) -> UTCTime {
        UTCTime(milliseconds: milliseconds + Int64(seconds * 1_000))
    }
}
