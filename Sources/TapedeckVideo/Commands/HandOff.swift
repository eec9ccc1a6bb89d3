public import TapedeckModel

/// Hands what one device plays to another, with the place where it is.
///
/// ```swift
/// try await store.decide(VideoProjections.standard.nowPlaying, key: Tag("device", "tv")) { state in
///     try HandOff(from: "tv", to: "phone", now: now).decide(state)
/// }
/// ```
///
/// The viewing goes along: it is the same sitting, so it counts once. The two devices hear of it by the log.
public struct HandOff: Sendable {
    /// The device that plays.
    public var source: String
    /// The one that goes on.
    public var target: String
    /// When.
    public var now: UTCTime

    /// Makes a command.
    public init(from source: String, to target: String, now: UTCTime) {
        self.source = source
        self.target = target
        self.now = now
    }

    /// Why nothing is recorded.
    public enum Refusal: CommandRefusal {
        /// The two are one device.
        case sameDevice
        /// The device has no video.
        case nothingPlays

        /// What does not allow it.
        public var message: String {
            switch self {
            case .sameDevice: "the two are one device"
            case .nothingPlays: "the device plays nothing"
            }
        }

        /// `.notFound` where nothing plays, `.invalidPayload` for one device.
        public var code: ErrorCode { self == .nothingPlays ? .notFound : .invalidPayload }

        /// What to do.
        public var hint: String? {
            self == .nothingPlays ? "name the device that plays" : "name two devices"
        }
    }

    /// What is to be recorded, of what the source plays: it pauses, and the target goes on, or pauses there
    /// if the source did not play.
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
