public import TapedeckModel

/// One action of a simulated user, as `ActivityGenerator` generates it.
///
/// An activity contains only numbers. Strings, ids and URLs are derived from the numbers when a
/// line or an event is written.
public struct Activity: Hashable, Sendable {
    /// The kinds of activity, named after the event types.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// A person shared a video.
        case broadcastReceived
        /// A player reported its position.
        case playbackProgressed
        /// The user posted a comment.
        case commentPosted
        /// The user marked a video to watch later, or removed the mark.
        case watchLaterToggled
        /// The URL of a video's content was found.
        case videoExtracted
        /// An answer was uploaded.
        case answerUploaded
    }

    /// The user's devices.
    public enum Device: UInt8, Sendable, CaseIterable {
        /// The most active device.
        case phone
        /// The second device.
        case tablet
        /// The third device.
        case laptop

        /// The device's name in a line's `origin`.
        public var name: String { String(describing: self) }

        /// The origin of this device's events, the same for every seed.
        public var origin: OriginID {
            OriginID(
                high: SeededGenerator.mixed(UInt64(rawValue) &+ 0x0D15_EA5E),
                low: SeededGenerator.mixed(UInt64(rawValue) &+ 0x5EED))
        }
    }

    /// The kind of activity.
    public var kind: Kind
    /// The device that recorded the activity.
    public var device: Device
    /// The time of the activity, in milliseconds since 1970.
    public var atMilliseconds: UInt64
    /// The video's rank, from 0; videos with lower ranks are more popular.
    public var videoRank: UInt64
    /// The number of the broadcast, viewing, comment or answer.
    var number: UInt64
    /// Random bits that determine strings and optional fields.
    var draw: UInt64
    /// For a broadcast, the time at which it was shared, in seconds since 1970; for a player, its
    /// position, in seconds; for an answer, its length, in seconds.
    var seconds: UInt64
    /// For a broadcast, the number of earlier observations; for a mark or an answer, 1 if the mark
    /// is set or the answer is published, and otherwise 0.
    var count: UInt64

    /// Returns the length of a video, in seconds.
    static func durationSeconds(ofVideo rank: UInt64) -> UInt64 {
        30 + SeededGenerator.mixed(rank ^ 0xD0) % 1_800
    }
}
