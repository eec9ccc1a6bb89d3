public import TapedeckModel

/// A policy that determines which video's content URL to extract next.
///
/// The policy implements the rules of the 2013 app as a pure function. URLs are extracted one at a
/// time, starting with the current video. Call `plan` whenever the list, the current video or the
/// known facts change. The plan contains the extraction to cancel, the extraction to run, and the
/// videos to skip, each with a reason. The policy has no state, so there is nothing to resume:
/// results and failures are in the log.
///
/// ```swift
/// let policy = ExtractionPolicy(aheadCount: ExtractionPolicy.DeviceKind.tablet.aheadCount)
/// let plan = policy.plan(list, current: 3, running: nil, now: now) { known[$0] ?? .init() }
/// ```
///
/// The wanted videos are the current one and the next `aheadCount` videos, in this order and
/// without duplicates. A video is skipped if it is already on disk, if its content URL is still
/// valid, if its last attempt failed and no retry is due yet, or if the network does not permit
/// extraction. The first remaining video is extracted. Any other running extraction is cancelled.
/// An extraction that has run for `timeoutSeconds` is also cancelled, and its video is skipped in
/// this plan. Record the timeout as a failure, and plan again.
public struct ExtractionPolicy: Hashable, Sendable {
    /// The number of wanted videos after the current one.
    public var aheadCount: Int
    /// The number of seconds after which an extraction times out.
    public var timeoutSeconds: Double
    /// The state of the network; on a metered network, only the current video is extracted.
    public var network: NetworkState

    /// The default number of seconds after which an extraction times out.
    public static let timeoutSeconds = 15.0
    /// The maximum number of wanted videos after the current one.
    public static let aheadCountMax = 15

    /// A kind of device, which determines how many videos to extract ahead.
    public enum DeviceKind: String, Sendable, CaseIterable {
        /// A phone, or a first-generation tablet.
        case phone
        /// A tablet with more memory.
        case tablet
        /// A device that plays continuously, such as a television.
        case television

        /// The number of wanted videos after the current one.
        public var aheadCount: Int {
            switch self {
            case .phone: 1
            case .tablet: 2
            case .television: 5
            }
        }
    }

    /// Creates a policy; `aheadCount` is clamped to the range from 0 to `aheadCountMax`.
    public init(
        aheadCount: Int = DeviceKind.phone.aheadCount,
        timeoutSeconds: Double = ExtractionPolicy.timeoutSeconds,
        network: NetworkState = .online
    ) {
        precondition(timeoutSeconds > 0, "timeoutSeconds must be above 0")
        self.aheadCount = min(max(0, aheadCount), ExtractionPolicy.aheadCountMax)
        self.timeoutSeconds = timeoutSeconds
        self.network = network
    }

    /// The known facts about a video.
    public struct Knowledge: Hashable, Sendable {
        /// Whether the video's content is on this device's disk.
        public var isOnDisk: Bool
        /// The time at which the video's URL expires; nil if there is no URL.
        public var goodUntil: UTCTime?
        /// The last attempt if it failed; nil otherwise.
        public var failure: Failure?

        /// A failed attempt.
        public struct Failure: Hashable, Sendable {
            /// The reason for the failure.
            public var reason: String
            /// The time at which the next automatic attempt is due; nil if there is none.
            public var nextTryAt: UTCTime?

            /// Creates a failure.
            public init(reason: String, nextTryAt: UTCTime?) {
                self.reason = reason
                self.nextTryAt = nextTryAt
            }
        }

        /// Creates the facts about a video; by default, nothing is known.
        public init(isOnDisk: Bool = false, goodUntil: UTCTime? = nil, failure: Failure? = nil) {
            self.isOnDisk = isOnDisk
            self.goodUntil = goodUntil
            self.failure = failure
        }
    }

    /// A running extraction.
    public struct Running: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// The time at which the extraction started.
        public var since: UTCTime

        /// Creates a running extraction.
        public init(_ video: VideoKey, since: UTCTime) {
            self.video = video
            self.since = since
        }
    }

    /// Returns the plan at the time `now`.
    ///
    /// - Parameters:
    ///   - list: The videos in playing order; later occurrences of a video are ignored.
    ///   - current: The index of the current video; if it is out of range, no video is wanted.
    ///   - running: The running extraction; nil if there is none.
    ///   - knowledge: Returns the known facts about a video; called only for wanted videos.
    ///
    /// The cost depends on the number of wanted videos, not on the length of the list.
    public func plan(
        _ list: [VideoKey], current: Int, running: Running?, now: UTCTime,
        _ knowledge: (VideoKey) throws -> Knowledge
    ) rethrows -> ExtractionPlan {
        var plan = ExtractionPlan()
        var queue: [VideoKey] = []
        for video in wanted(list, current) {
            if let skip = try skip(video, knowledge(video), running, now)
                ?? forbidden(video, isCurrent: video == list[current])
            {
                plan.skipped.append(skip)
            } else {
                queue.append(video)
            }
        }
        let first = queue.first
        if let running {
            if running.video == first {
                plan.continuing = first
            } else {
                plan.cancelled = cancellation(running, plan.skipped, queue, now)
            }
        }
        if let first {
            if plan.continuing == nil { plan.run = first }
            plan.waiting = Array(queue.dropFirst())
            let since = plan.continuing == nil ? now : running?.since ?? now
            plan.timesOutAt = since.adding(seconds: timeoutSeconds)
        }
        var changes = plan.skipped.compactMap(\.until) + [plan.timesOutAt].compactMap { $0 }
        if let running, !isTimedOut(running, now) {
            changes.append(running.since.adding(seconds: timeoutSeconds))
        }
        plan.nextChangeAt = changes.min()
        return plan
    }

    private func wanted(_ list: [VideoKey], _ current: Int) -> [VideoKey] {
        guard list.indices.contains(current) else { return [] }
        var seen: Set<VideoKey> = []
        return list[current...].prefix(aheadCount + 1).filter { seen.insert($0).inserted }
    }

    private func skip(
        _ video: VideoKey, _ known: Knowledge, _ running: Running?, _ now: UTCTime
    ) -> ExtractionPlan.Skip? {
        if known.isOnDisk { return .init(video: video, reason: .onDisk) }
        if let until = known.goodUntil, now < until {
            return .init(video: video, reason: .cached, until: until)
        }
        if let failure = known.failure {
            guard let next = failure.nextTryAt else {
                return .init(video: video, reason: .failed, failure: failure.reason)
            }
            if now < next {
                return .init(
                    video: video, reason: .failed, until: next, failure: failure.reason)
            }
        }
        if let running, running.video == video, isTimedOut(running, now) {
            return .init(video: video, reason: .timedOut)
        }
        return nil
    }

    private func forbidden(_ video: VideoKey, isCurrent: Bool) -> ExtractionPlan.Skip? {
        switch network {
        case .online: nil
        case .metered: isCurrent ? nil : .init(video: video, reason: .metered)
        case .offline: .init(video: video, reason: .offline)
        }
    }

    private func isTimedOut(_ running: Running, _ now: UTCTime) -> Bool {
        running.since.adding(seconds: timeoutSeconds) <= now
    }

    private func cancellation(
        _ running: Running, _ skipped: [ExtractionPlan.Skip], _ queue: [VideoKey], _ now: UTCTime
    ) -> ExtractionPlan.Cancellation {
        let reason: ExtractionPlan.Cancellation.Reason =
            if isTimedOut(running, now) {
                .timedOut
            } else if queue.contains(running.video) {
                .overtaken
            } else if let skip = skipped.first(where: { $0.video == running.video }) {
                skip.reason == .metered || skip.reason == .offline ? .network : .notNeeded
            } else {
                .unwanted
            }
        return .init(video: running.video, reason: reason)
    }
}
