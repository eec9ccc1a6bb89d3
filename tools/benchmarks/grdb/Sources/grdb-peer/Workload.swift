/// The synthetic data set, the Swift equivalent of `peers/workload.h`; `digest` proves that both
/// generate the same events.
struct Workload {
    static let payloadSize = 200
    static let firstSecond: Int64 = 1_350_000_000

    let events: Int
    let videos: Int
    private let seed: UInt64
    private let octaves: UInt64
    private var index: UInt64 = 0
    private var sequences: [Int64] = [0, 0, 0]

    init(events: Int, videos: Int, seed: UInt64) {
        self.events = events
        self.videos = min(videos, events)
        self.seed = seed
        var octaves: UInt64 = 0
        while (1 << octaves) < self.videos { octaves += 1 }
        self.octaves = max(octaves, 1)
    }

    mutating func next() -> Event {
        let i = index
        index += 1
        let who = draw(i, 1)
        let words = draw(i, 2)
        let rest = draw(i, 3)
        let origin = Int(who % 3)
        sequences[origin] += 1
        let second = Self.firstSecond + Int64(i)
        let isLate = (who >> 8) % 10 == 0
        return Event(
            position: Int64(i) + 1,
            origin: Int64(origin),
            sequence: sequences[origin],
            stamp: second * 1000,
            type: Int64(rest % 8),
            video: pickVideo(i, draw(i, 0)),
            createdAt: isLate ? second - 1 - Int64((who >> 16) % 2_592_000) : second,
            titleNumber: words % 1000,
            sharerNumber: (words >> 32) % 5000,
            firstWord: rest)
    }

    /// Picks a video.
    ///
    /// Every octave of ranks has the same probability, which approximates Zipf's law with an
    /// exponent of 1. Each video is also picked once in shuffled order, so that every video occurs.
    private func pickVideo(_ i: UInt64, _ random: UInt64) -> UInt64 {
        let count = UInt64(videos)
        let stride = UInt64(events) / count
        if i % stride == 0, i / stride < count {
            return (i / stride * 7_368_787 + 12345) % count
        }
        let low: UInt64 = (1 << ((random >> 32) % octaves)) - 1
        return (low + (random & low)) % count
    }

    private func draw(_ i: UInt64, _ k: UInt64) -> UInt64 {
        mix(seed &+ (4 &* i &+ k &+ 1) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// Returns a checksum of the generated events, which two generators share only if they generate
    /// the same events.
    static func digest(events: Int, videos: Int, seed: UInt64) -> UInt64 {
        var workload = Workload(events: events, videos: videos, seed: seed)
        var digest: UInt64 = 0
        for _ in 0..<events {
            let event = workload.next()
            for byte in event.key.utf8 { digest = mix(digest ^ UInt64(byte)) }
            let fields: [UInt64] = [
                UInt64(event.position), UInt64(event.origin), UInt64(event.sequence),
                UInt64(event.stamp), UInt64(event.type), event.titleNumber, event.sharerNumber,
                UInt64(event.createdAt), event.firstWord,
            ]
            for field in fields { digest = mix(digest ^ field) }
        }
        return digest
    }
}

struct Event {
    var position, origin, sequence, stamp, type: Int64
    var video: UInt64
    var createdAt: Int64
    var titleNumber, sharerNumber, firstWord: UInt64

    var title: String { "Title \(titleNumber) of video \(video)" }
    var sharer: String { "sharer\(sharerNumber)" }

    /// The video's key: `youtube:` and eleven characters; unique, and in random order.
    var key: String {
        let hash = mix(video + 1)
        return String(unsafeUninitializedCapacity: 19) { buffer in
            _ = buffer.update(fromContentsOf: "youtube:".utf8)
            for c in 0..<10 {
                buffer[8 + c] = keyDigits[Int(hash >> (58 - 6 * UInt64(c)) & 63)]
            }
            buffer[18] = keyDigits[Int((hash & 15) << 2)]
            return 19
        }
    }
}

private let keyDigits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

/// The finalizer of splitmix64.
func mix(_ value: UInt64) -> UInt64 {
    var x = value
    x = (x ^ (x >> 30)) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ (x >> 27)) &* 0x94D0_49BB_1331_11EB
    return x ^ (x >> 31)
}
