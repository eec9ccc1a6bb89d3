public import TapedeckModel

/// Records that a video's content URL could not be extracted.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.extractions, key: video.tag) { state in
///     try FailExtraction(video, reason: FailExtraction.timeout, now: now).decide(state)
/// }
/// ```
public struct FailExtraction: Sendable {
    /// The video.
    public var video: VideoKey
    /// The reason: one of the constants below, or another string of lowercase letters, digits and
    /// hyphens.
    public var reason: String
    /// The time of the failure.
    public var now: UTCTime
    /// The delay before the next attempt.
    public var delay: RetryDelay

    /// The extraction took longer than `ExtractionPolicy.timeoutSeconds`.
    public static let timeout = "timeout"
    /// The provider no longer has the video; there is no automatic retry.
    public static let gone = "gone"
    /// The provider refuses to return the content URL.
    public static let refused = "refused"
    /// Extraction from this provider is not supported; there is no automatic retry.
    public static let unsupported = "unsupported"

    /// Creates a command.
    public init(
        _ video: VideoKey, reason: String, now: UTCTime, delay: RetryDelay = .standard
    ) {
        self.video = video
        self.reason = reason
        self.now = now
        self.delay = delay
    }

    /// A reason why the command is refused.
    public enum Refusal: CommandRefusal {
        /// An earlier failure is already recorded, and the next attempt is not due yet.
        ///
        /// For example, two devices may have tried to extract the URL at the same time.
        case notDue(until: UTCTime)

        /// The error message.
        public var message: String {
            switch self {
            case .notDue(let time): "the last attempt failed; the next one is due at \(time)"
            }
        }

        /// A hint for the user.
        public var hint: String? { "wait until the next attempt is due" }
    }

    /// Returns the event to record.
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
            event.retryAfterSeconds = delay.seconds(after: Int(clamping: attempt))
        }
        return [event]
    }
}
