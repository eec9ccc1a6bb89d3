public import TapedeckModel

/// Which video's content to extract now: one at a time, the current video's first.
///
/// The policy of the app of 2013, as a pure function: on every change of the list, of the current video or of
/// what is known it is asked again, and says what to cancel, what to run, and what to leave out and why. It
/// holds no state, so nothing has to be resumed: what was found or has failed stands in the log.
///
/// ```swift
/// let policy = ExtractionPolicy(aheadCount: ExtractionPolicy.DeviceKind.tablet.aheadCount)
/// let plan = policy.plan(list, current: 3, running: nil, now: now) { known[$0] ?? .init() }
/// ```
///
/// What is wanted are the current video and the `aheadCount` behind it, each once, in this order. Of those
/// the ones that lie on disk, whose address is good, or whose last try failed and is not due again are
/// skipped, and so are those that the network is too dear for. The first that is left runs. Whatever else runs is cancelled, and so is what has run for
/// `timeoutSeconds`, which is skipped in this plan: record that it failed, and ask again.
public struct ExtractionPolicy: Hashable, Sendable {
    /// How many videos behind the current one are wanted, too.
    public var aheadCount: Int
    /// After how many seconds what runs is given up.
    public var timeoutSeconds: Double
    /// What the host says of the network: where it is metered only the current video is extracted.
    public var network: NetworkState

    /// What runs for longer is given up.
    public static let timeoutSeconds = 15.0
    /// So many videos behind the current one are wanted at the most.
    public static let aheadCountMax = 15

    /// What a device can afford.
    public enum DeviceKind: String, Sendable, CaseIterable {
        /// A phone, or a tablet of the first generation.
        case phone
        /// A tablet with much memory.
        case tablet
        /// One that plays on and on, such as a television.
        case television

        /// How many videos behind the current one it wants.
        public var aheadCount: Int {
            switch self {
            case .phone: 1
            case .tablet: 2
            case .television: 5
            }
        }
    }

    /// Makes a policy; `aheadCount` is held between 0 and `aheadCountMax`.
    public init(
        aheadCount: Int = DeviceKind.phone.aheadCount,
        timeoutSeconds: Double = ExtractionPolicy.timeoutSeconds,
        network: NetworkState = .online
    ) {
        precondition(timeoutSeconds > 0, "a time-out is above 0")
        self.aheadCount = min(max(0, aheadCount), ExtractionPolicy.aheadCountMax)
        self.timeoutSeconds = timeoutSeconds
        self.network = network
    }

    /// What is known of a video.
    public struct Knowledge: Hashable, Sendable {
        /// Whether its content lies on this device's disk.
        public var isOnDisk: Bool
        /// Before when its address is good; nil where it has none.
        public var goodUntil: UTCTime?
        /// Its last try, if that failed.
        public var failure: Failure?

        /// A try that failed.
        public struct Failure: Hashable, Sendable {
            /// Why.
            public var reason: String
            /// When the next one is due; nil where none is by itself.
            public var nextTryAt: UTCTime?

            /// Makes a failure.
            public init(reason: String, nextTryAt: UTCTime?) {
                self.reason = reason
                self.nextTryAt = nextTryAt
            }
        }

        /// Makes knowledge; nothing by default.
        public init(isOnDisk: Bool = false, goodUntil: UTCTime? = nil, failure: Failure? = nil) {
            self.isOnDisk = isOnDisk
            self.goodUntil = goodUntil
            self.failure = failure
        }
    }

    /// What runs at the moment.
    public struct Running: Hashable, Sendable {
        /// The video.
        public var video: VideoKey
        /// Since when.
        public var since: UTCTime

        /// Makes one.
        public init(_ video: VideoKey, since: UTCTime) {
            self.video = video
            self.since = since
        }
    }

    /// Says what to do now.
    ///
    /// - Parameters:
    ///   - list: the videos in the order in which they play; one that comes twice counts as its first.
    ///   - current: the index of the current one; outside of the list nothing is wanted.
    ///   - running: what runs.
    ///   - knowledge: what is known of a video; asked of those that are wanted.
    ///
    /// Costs what is wanted, not what the list holds.
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
