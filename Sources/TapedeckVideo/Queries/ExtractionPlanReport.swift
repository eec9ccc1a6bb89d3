internal import TapedeckModel
internal import TapedeckProjections

/// A plan of the extractions to cancel, continue and start for a list of videos.
public struct ExtractionPlanReport: Codable, Hashable, Sendable {
    /// The running extraction to cancel; nil if there is none.
    @NullWhenNil public var cancel: Cancellation?
    /// The video whose running extraction continues; nil if there is none.
    @NullWhenNil public var continuing: String?
    /// The video to extract now; nil if there is none.
    @NullWhenNil public var run: String?
    /// The time at which the continuing or new extraction times out; nil if there is no extraction.
    @NullWhenNil public var timesOutAt: UTCTime?
    /// The videos to extract afterwards, in order.
    public var waiting: [String]
    /// The videos that are not extracted.
    public var skipped: [Skip]
    /// The time at which the plan may change without new events.
    @NullWhenNil public var nextChangeAt: UTCTime?

    /// An extraction to cancel.
    public struct Cancellation: Codable, Hashable, Sendable {
        /// The video, as `provider:id`.
        public var video: String
        /// The reason for cancelling the extraction.
        public var reason: ExtractionPlan.Cancellation.Reason
    }

    /// A video that is not extracted.
    public struct Skip: Codable, Hashable, Sendable {
        /// The video, as `provider:id`.
        public var video: String
        /// The reason for skipping the video.
        public var reason: ExtractionPlan.Skip.Reason
        /// The time until which the video is skipped; nil if the reason does not expire.
        @NullWhenNil public var until: UTCTime?
        /// The reason why the last attempt failed; nil unless `reason` is `failed`.
        @NullWhenNil public var failure: String?
    }

    /// Creates a report of a plan.
    public init(_ plan: ExtractionPlan) {
        (waiting, skipped) = (
            plan.waiting.map(\.text),
            plan.skipped.map {
                Skip(
                    video: $0.video.text, reason: $0.reason, until: $0.until, failure: $0.failure)
            }
        )
        cancel = plan.cancelled.map { Cancellation(video: $0.video.text, reason: $0.reason) }
        continuing = plan.continuing?.text
        run = plan.run?.text
        timesOutAt = plan.timesOutAt
        nextChangeAt = plan.nextChangeAt
    }
}

extension VideoQueries {
    /// Returns the plan that `policy` makes for a list of videos at the time `now`.
    ///
    /// The cost is two lookups for each wanted video.
    ///
    /// - Parameters:
    ///   - list: The videos in playing order.
    ///   - current: The index of the current video, counting from 0.
    ///   - running: The running extraction; nil if there is none.
    ///   - device: The device whose downloaded videos need no extraction.
    ///   - windowSeconds: The number of seconds for which a URL without an expiry time is valid.
    public func extractionPlan(
        _ list: [VideoKey], current: Int, running: ExtractionPolicy.Running? = nil,
        policy: ExtractionPolicy = ExtractionPolicy(), device: String = Downloads.defaultDevice,
        at now: UTCTime,
        windowSeconds: Double = QueryLimits.extractionWindowSeconds
    ) throws -> ExtractionPlan {
        try QueryLimits.check(windowSeconds: windowSeconds)
        return try policy.plan(list, current: current, running: running, now: now) { video in
            let known = try reader.state(of: projections.extractions, key: video.tag)
            return ExtractionPolicy.Knowledge(
                isOnDisk: try isOnDisk(video, device: device),
                goodUntil: known?.address.map {
                    UTCTime(milliseconds: $0.goodUntil(windowSeconds: windowSeconds))
                },
                failure: known?.failure.map {
                    .init(reason: $0.reason, nextTryAt: $0.nextTryAt.map(UTCTime.init))
                })
        }
    }
}
