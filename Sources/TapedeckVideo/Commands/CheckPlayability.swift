public import TapedeckModel

/// Records what a check of a video has found.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.playability, key: video.tag) { state in
///     try CheckPlayability(video, .failed(reason: "timeout"), now: now).decide(state)
/// }
/// ```
public struct CheckPlayability: Sendable {
    /// The video.
    public var video: VideoKey
    /// What was found.
    public var finding: PlayabilityFinding
    /// When it was checked.
    public var now: UTCTime
    /// When to check again behind a failure.
    public var delay: RetryDelay

    /// Makes a command.
    public init(
        _ video: VideoKey, _ finding: PlayabilityFinding, now: UTCTime,
        delay: RetryDelay = .standard
    ) {
        self.video = video
        self.finding = finding
        self.now = now
        self.delay = delay
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// A failure came before the next check was due: two that check at once would wait twice as long.
        case notDue(until: UTCTime)

        /// What does not allow it.
        public var message: String {
            switch self {
            case .notDue(let time): "the last check has failed, and the next one is due at \(time)"
            }
        }

        /// What to do.
        public var hint: String? { "check again then" }
    }

    /// What is to be recorded; nothing where the same is known already.
    public func decide(_ state: Playability.State) throws(Refusal) -> [any Event] {
        var event = PlayabilityChecked()
        event.video = video.text
        switch finding {
        case .playable:
            if let verdict = state.verdict, verdict.isPlayable, state.failure == nil { return [] }
            event.outcome = PlayabilityOutcome.playable.rawValue
        case .unplayable(let reason):
            if let verdict = state.verdict, !verdict.isPlayable, verdict.reason == reason,
                state.failure == nil
            {
                return []
            }
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
            event.retryAfterSeconds = delay.seconds(behind: Int(clamping: attempt))
        }
        return [event]
    }
}
