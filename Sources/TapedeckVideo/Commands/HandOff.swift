public import TapedeckModel
public import TapedeckProjections

/// Continues playback on another device, at the same position.
///
/// ```swift
/// let change = HandOff(from: "tv", to: "phone", now: now)
/// try await store.decide { try change.decide(VideoQueries($0)) }
/// ```
///
/// The viewing continues on the other device, so it is counted only once. The two devices read the
/// change from the log.
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

    /// A reason why the command is refused.
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

    /// Returns the events to record.
    ///
    /// The source pauses. The target continues playback, or is paused too if the source was paused.
    /// The position never exceeds a known duration. Throws `Refusal`, and `ModelError` with
    /// `.invalidTag` for an invalid name. Costs two lookups.
    public func decide(_ queries: VideoQueries<some ViewReader>) throws -> [any Event] {
        guard source != target else { throw Refusal.sameDevice }
        let state = try queries.reader.state(
            of: queries.projections.nowPlaying, key: try Tag("device", source))
        guard let state, let video = state.video else { throw Refusal.nothingPlays }
        var paused = NowPlayingChanged()
        paused.device = source
        paused.video = video
        if let viewing = state.viewing { paused.viewing = viewing }
        paused.positionSeconds = min(
            try queries.position(of: state, at: now), FieldLimits.secondsMax)
        var taken = paused
        taken.device = target
        taken.isPlaying = state.isPlaying
        return [paused, taken]
    }
}
