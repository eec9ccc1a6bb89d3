internal import TapedeckModel
internal import TapedeckProjections

/// What is to be extracted now, for a list of videos.
public struct ExtractionPlanReport: Codable, Hashable, Sendable {
    /// What runs and is to be cancelled; nil where nothing is.
    @NullWhenNil public var cancel: Cancellation?
    /// What runs and is to go on.
    @NullWhenNil public var continuing: String?
    /// What is to be begun.
    @NullWhenNil public var run: String?
    /// When what runs is given up.
    @NullWhenNil public var timesOutAt: UTCTime?
    /// What comes behind it.
    public var waiting: [String]
    /// What is not extracted.
    public var skipped: [Skip]
    /// When the plan may be another one by the time alone.
    @NullWhenNil public var nextChangeAt: UTCTime?

    /// What is to be cancelled.
    public struct Cancellation: Codable, Hashable, Sendable {
        /// The video, as `provider:id`.
        public var video: String
        /// Why.
        public var reason: ExtractionPlan.Cancellation.Reason
    }

    /// What is not extracted.
    public struct Skip: Codable, Hashable, Sendable {
        /// The video, as `provider:id`.
        public var video: String
        /// Why.
        public var reason: ExtractionPlan.Skip.Reason
        /// Until when; nil where time does not end it.
        @NullWhenNil public var until: UTCTime?
        /// Why the last try failed.
        @NullWhenNil public var failure: String?
    }

    /// Makes a report of a plan.
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
    /// What `policy` says of a list, by what the log knows at `now`.
    ///
    /// - Parameters:
    ///   - list: the videos in the order in which they play, by key or URL.
    ///   - current: the index of the current one, from 0.
    ///   - running: what runs at the moment.
    ///   - device: the one whose disk counts.
    ///   - windowSeconds: how long an address is good for that does not say so itself.
    ///
    /// Costs two look-ups for each video that is wanted.
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
