public import TapedeckModel

/// Records that the address of a video's content was not found.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.extractions, key: video.tag) { state in
///     try FailExtraction(video, reason: FailExtraction.timeout, now: now).decide(state)
/// }
/// ```
public struct FailExtraction: Sendable {
    /// The video.
    public var video: VideoKey
    /// Why: one of the words below, or another of lower-case letters, digits and hyphens.
    public var reason: String
    /// When it failed.
    public var now: UTCTime
    /// When to try again.
    public var delay: RetryDelay

    /// It took longer than `ExtractionPolicy.timeoutSeconds`.
    public static let timeout = "timeout"
    /// The provider does not have the video any more; it is not tried again by itself.
    public static let gone = "gone"
    /// The provider does not give the address.
    public static let refused = "refused"
    /// Nobody here knows how to find addresses at this provider; it is not tried again by itself.
    public static let unsupported = "unsupported"

    /// Makes a command.
    public init(
        _ video: VideoKey, reason: String, now: UTCTime, delay: RetryDelay = .standard
    ) {
        self.video = video
        self.reason = reason
        self.now = now
        self.delay = delay
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// A failure came before the next try was due, as where two devices try at once.
        case notDue(until: UTCTime)

        /// What does not allow it.
        public var message: String {
            switch self {
            case .notDue(let time): "the last try has failed, and the next one is due at \(time)"
            }
        }

        /// What to do.
        public var hint: String? { "try again then" }
    }

    /// What is to be recorded.
    public func decide(_ state: ExtractionCache.State) throws(Refusal) -> [any Event] {
        if let next = state.failure?.nextTryAt, now.milliseconds < next {
            throw .notDue(until: UTCTime(milliseconds: next))
        }
        let attempt = (state.failure?.attempt ?? 0) + 1
        var event = ExtractionFailed()
        event.video = video.text
        event.reason = reason
        event.attempt = UInt32(clamping: attempt)
        if reason != FailExtraction.gone, reason != FailExtraction.unsupported {
            event.retryAfterSeconds = delay.seconds(behind: Int(clamping: attempt))
        }
        return [event]
    }
}
