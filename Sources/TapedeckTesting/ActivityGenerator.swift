/// Generates the activity of a user who watches videos on three devices.
///
/// The activity resembles real activity in the ways that matter to a store. A few videos are
/// popular and most are hardly ever seen (roughly Zipf's law with exponent 1). Activity comes in
/// bursts around one video. One event in ten is late: its time is minutes to days earlier than the
/// times of the events next to it. More than half of the events are broadcasts. The same seed
/// generates the same activity on every machine.
///
/// ```swift
/// var activity = ActivityGenerator(seed: 1, videos: 10_000)
/// let proposal = try activity.next().event()
/// var lines: [UInt8] = []
/// for _ in 0..<1_000 { activity.next().appendLine(to: &lines) }
/// ```
public struct ActivityGenerator: Sendable {
    /// The number of videos.
    public let videos: UInt64
    private var random: SeededGenerator
    /// The time of events that are not late, in milliseconds since 1970.
    private(set) var now: UInt64 = ActivityGenerator.startMilliseconds
    private var burst = Burst()
    private var numbers = Numbers()
    private var recent: [Shared] = []

    /// The start of the activity: 2015-01-01T00:00:00Z.
    public static let startMilliseconds: UInt64 = 1_420_070_400_000

    /// The maximum number of broadcasts that may be observed again.
    private static let recentMax = 64

    /// The current burst of activity.
    private struct Burst {
        var remaining = 0
        var device = Activity.Device.phone
        var videoRank: UInt64 = 0
        var viewing: UInt64 = 0
        var positionSeconds: UInt64 = 0
    }

    /// The last number assigned to each kind of object.
    private struct Numbers {
        var broadcast: UInt64 = 0
        var viewing: UInt64 = 0
        var comment: UInt64 = 0
        var answer: UInt64 = 0
    }

    /// A broadcast that may be observed again.
    private struct Shared {
        var number: UInt64
        var videoRank: UInt64
        var draw: UInt64
        var seconds: UInt64
        var count: UInt64
    }

    /// Creates a generator.
    ///
    /// - Parameter videos: The number of videos, at least 1.
    public init(seed: UInt64, videos: Int = 10_000) {
        precondition(videos > 0, "videos must be at least 1")
        self.videos = UInt64(videos)
        random = SeededGenerator(seed: seed)
    }

    /// Generates the next activity.
    public mutating func next() -> Activity {
        if burst.remaining == 0 { beginBurst() }
        burst.remaining -= 1
        now += random.below(1_500)
        // About half of the events in a burst concern the burst's video; the rest concern any
        // video.
        let rank = random.oneIn(2) ? burst.videoRank : videoRank()
        var activity = Activity(
            kind: kind(), device: random.oneIn(8) ? device() : burst.device,
            atMilliseconds: random.oneIn(10) ? late() : now, videoRank: rank, number: 0,
            draw: random.next(), seconds: 0, count: 0)
        switch activity.kind {
        case .broadcastReceived: share(&activity)
        case .playbackProgressed: play(&activity)
        case .commentPosted:
            numbers.comment += 1
            activity.number = numbers.comment
        case .watchLaterToggled: activity.count = random.oneIn(3) ? 0 : 1
        case .videoExtracted: break
        case .answerUploaded:
            // In one case out of three, the previous answer appears again, now published.
            activity.count = numbers.answer > 0 && random.oneIn(3) ? 1 : 0
            if activity.count == 0 { numbers.answer += 1 }
            activity.number = numbers.answer
            activity.seconds = SeededGenerator.mixed(numbers.answer) % 120 + 5
        }
        return activity
    }

    // MARK: - Parts

    private mutating func beginBurst() {
        now += random.below(240_000)
        numbers.viewing += 1
        burst = Burst(
            remaining: 1 + random.below(40), device: device(), videoRank: videoRank(),
            viewing: numbers.viewing)
    }

    private mutating func kind() -> Activity.Kind {
        switch random.below(100) {
        case ..<55: .broadcastReceived
        case ..<78: .playbackProgressed
        case ..<86: .commentPosted
        case ..<94: .watchLaterToggled
        case ..<98: .videoExtracted
        default: .answerUploaded
        }
    }

    private mutating func device() -> Activity.Device {
        switch random.below(4) {
        case ..<2: .phone
        case 2: .tablet
        default: .laptop
        }
    }

    /// Returns a time that is between minutes and days before now; each doubling of the delay is
    /// equally likely.
    private mutating func late() -> UInt64 {
        now - 60_000 - random.below(60_000 << random.below(13))
    }

    private mutating func videoRank() -> UInt64 { random.rank(of: videos) }

    private mutating func share(_ activity: inout Activity) {
        if !recent.isEmpty, random.oneIn(12) {
            let index = random.below(recent.count)
            recent[index].count += 1
            let again = recent[index]
            activity.videoRank = again.videoRank
            activity.number = again.number
            activity.draw = again.draw
            activity.seconds = again.seconds
            activity.count = again.count
            return
        }
        numbers.broadcast += 1
        activity.number = numbers.broadcast
        activity.seconds = activity.atMilliseconds / 1_000 - random.below(UInt64(600))
        let shared = Shared(
            number: activity.number, videoRank: activity.videoRank, draw: activity.draw,
            seconds: activity.seconds, count: 0)
        if recent.count < ActivityGenerator.recentMax {
            recent.append(shared)
        } else {
            recent[Int(activity.number % UInt64(ActivityGenerator.recentMax))] = shared
        }
    }

    private mutating func play(_ activity: inout Activity) {
        let duration = Activity.durationSeconds(ofVideo: burst.videoRank)
        burst.positionSeconds += 5 + random.below(duration / 8)
        activity.videoRank = burst.videoRank
        activity.number = burst.viewing
        activity.seconds = min(burst.positionSeconds, duration)
        if burst.positionSeconds >= duration {
            numbers.viewing += 1
            burst.viewing = numbers.viewing
            burst.positionSeconds = 0
        }
    }
}

extension SeededGenerator {
    /// Returns a rank from 0 up to, but not including, `count`, which must be at least 1.
    ///
    /// Every octave is equally likely, which approximates Zipf's law.
    mutating func rank(of count: UInt64) -> UInt64 {
        let octaves = UInt64(UInt64.bitWidth - count.leadingZeroBitCount)
        while true {
            let first = UInt64(1) << below(octaves)
            let rank = first + below(first)
            if rank <= count { return rank - 1 }
        }
    }
}
