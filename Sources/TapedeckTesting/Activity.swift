public import TapedeckModel

/// One thing that happened to a made-up user, as `ActivityGenerator` makes it.
///
/// It holds numbers only; texts, ids and addresses follow from them when a line or an event is written.
public struct Activity: Hashable, Sendable {
    /// The kinds of activity, named like the event types.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// Somebody shared a video.
        case broadcastReceived
        /// A player says where it is.
        case playbackProgressed
        /// The user said something.
        case commentPosted
        /// The user marked a video, or took the mark away.
        case watchLaterToggled
        /// The address of a video's content was found.
        case videoExtracted
        /// An answer was handed in.
        case answerUploaded
    }

    /// The user's devices.
    public enum Device: UInt8, Sendable, CaseIterable {
        /// The first.
        case phone
        /// The second.
        case tablet
        /// The third.
        case laptop

        /// The name in a line's `origin`.
        public var name: String { String(describing: self) }

        /// The origin as which this device writes, the same for every seed.
        public var origin: OriginID {
            OriginID(
                high: SeededGenerator.mixed(UInt64(rawValue) &+ 0x0D15_EA5E),
                low: SeededGenerator.mixed(UInt64(rawValue) &+ 0x5EED))
        }
    }

    /// What happened.
    public var kind: Kind
    /// Where it happened.
    public var device: Device
    /// When, in Unix milliseconds.
    public var atMilliseconds: UInt64
    /// The video's rank from 0; the lower, the hotter.
    public var videoRank: UInt64
    /// The number of the broadcast, viewing, comment or answer.
    var number: UInt64
    /// Random bits that decide texts and options.
    var draw: UInt64
    /// When the broadcast was shared, in Unix seconds; where the player is, in seconds.
    var seconds: UInt64
    /// How often the broadcast was seen before; 1 when the mark is set.
    var count: UInt64

    /// How long a video is, in seconds.
    static func durationSeconds(ofVideo rank: UInt64) -> UInt64 {
        30 + SeededGenerator.mixed(rank ^ 0xD0) % 1_800
    }
}
