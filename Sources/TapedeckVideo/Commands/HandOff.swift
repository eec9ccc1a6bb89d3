public import TapedeckModel

/// Continues playback on another device, at the same position.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.nowPlaying, key: Tag("device", "tv")) { state in
///     try HandOff(from: "tv", to: "phone", now: now).decide(state)
/// }
/// ```
///
/// The viewing continues on the other device, so the viewing is counted only once. The devices
/// learn of the change from the log.
public struct HandOff: Sendable {
    /// The device that is playing the video.
    public var source: String
    /// The device that continues playback.
    public var target: String
    /// The time of the change.
    public var now: UTCTime

    /// Creates a command.
    public init(from source: String, to target: String, now: UTCTime) {
        self.source = source
        self.target = target
        self.now = now
    }

    /// A reason why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// The source and the target are the same device.
        case sameDevice
        /// The source has no video.
        case nothingPlays

        /// The error message.
        public var message: String {
            switch self {
            case .sameDevice: "the source and the target are the same device"
            case .nothingPlays: "nothing is playing on the device"
            }
        }

        /// `.notFound` if the source has no video, `.invalidPayload` if both devices are the same.
        public var code: ErrorCode { self == .nothingPlays ? .notFound : .invalidPayload }

        /// A hint for the user.
        public var hint: String? {
            self == .nothingPlays
                ? "name a device that is playing a video" : "name two different devices"
        }
    }

    /// Returns the events to record, given the state of the source.
    ///
    /// The source pauses. The target continues playback, or is paused too if the source was paused.
    public func decide(_ state: NowPlaying.State) throws(Refusal) -> [any Event] {
        guard source != target else { throw .sameDevice }
        guard let video = state.video else { throw .nothingPlays }
        var paused = NowPlayingChanged()
        paused.device = source
        paused.video = video
        if let viewing = state.viewing { paused.viewing = viewing }
        paused.positionSeconds = min(state.position(at: now), FieldLimits.secondsMax)
        var taken = paused
        taken.device = target
        taken.isPlaying = state.isPlaying
        return [paused, taken]
    }
}
