public import TapedeckModel
public import TapedeckProjections

/// Records the result of checking whether a video plays; see `PlayabilityCheck`.
///
/// A result that is already known is recorded again only if the check was due; the next check is
/// then postponed.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.playability, key: video.tag) { state in
///     try CheckPlayability(video, .failed(reason: "timeout"), now: now).decide(state)
/// }
/// ```
public struct CheckPlayability: Sendable {
    /// The video.
    public var video: VideoKey
    /// The result of the check.
    public var finding: PlayabilityFinding
    /// The time of the check.
    public var now: UTCTime
    /// The delay before the next check after a failure.
    public var delay: RetryDelay

    /// Creates a command.
    public init(
        _ video: VideoKey, _ finding: PlayabilityFinding, now: UTCTime,
        delay: RetryDelay = .standard
    ) {
        self.video = video
        self.finding = finding
        self.now = now
        self.delay = delay
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// The check failed, but an earlier check has failed too, and the next check is not due
        /// yet.
        ///
        /// If two devices check a video at the same time, only one failure is recorded, because a
        /// second failure would double the delay.
        case notDue(until: UTCTime)

        /// The error message.
        public var message: String {
            switch self {
            case .notDue(let time): "the last check failed; the next one is due at \(time)"
            }
        }

        /// A hint for the user.
        public var hint: String? { "wait until the next check is due" }
    }

    /// Returns the event to record, or nothing if the result is already known.
    ///
    /// Throws a `Refusal`, or errors from reading the store.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        let playability = queries.projections.playability
        return try decide(
            queries.reader.state(of: playability, key: video.tag) ?? Playability.State())
    }

    /// Returns the event to record, or nothing if the result is already known.
    public func decide(_ state: Playability.State) throws(Refusal) -> [any Event] {
        let isDue = state.nextCheckAt(of: video).map { $0 <= now.milliseconds } ?? false
        let isKnown = state.failure == nil && !isDue
        var event = PlayabilityChecked()
        event.video = video.text
        switch finding {
        case .playable:
            if isKnown, let verdict = state.verdict, verdict.isPlayable { return [] }
            event.outcome = PlayabilityOutcome.playable.rawValue
        case .unplayable(let reason):
            if isKnown, let verdict = state.verdict, verdict.reason == reason { return [] }
            event.outcome = PlayabilityOutcome.unplayable.rawValue
            event.reason = reason
        case .failed(let reason):
            if let next = state.failure?.nextTryAt, now.milliseconds < next {
                throw .notDue(until: UTCTime(milliseconds: next))
            }
            let attempt = (state.failure?.attempt ?? 0) + 1
            event.outcome = PlayabilityOutcome.failed.rawValue
            event.reason = reason
            event.attempt = UInt32(clamping: attempt)
            event.retryAfterSeconds = delay.seconds(after: Int(clamping: attempt))
        }
        return [event]
    }
}
