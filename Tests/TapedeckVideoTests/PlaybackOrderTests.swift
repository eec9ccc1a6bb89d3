import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import TestSupport
import Testing

/// The projections for players fold to the same bytes, whatever the order of events.
@Suite(.offTasks) struct PlaybackOrderTests {
    static let projections: [any Projection] = [
        VideoProjections.standard.playability, VideoProjections.standard.extractions,
        VideoProjections.standard.playback, VideoProjections.standard.nowPlaying,
        VideoProjections.standard.queue, VideoProjections.standard.downloads,
        VideoProjections.standard.statistics,
    ]

    /// Returns a history with few keys, so that many events share a key.
    static func history(_ count: Int, seed: UInt64) throws -> [RecordedEvent] {
        var generator = SeededGenerator(seed: seed)
        var script = Script()
        for _ in 0..<count { try addAny(to: &script, using: &generator) }
        return script.events
    }

    private static func addAny(
        to script: inout Script, using generator: inout SeededGenerator
    ) throws {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        let origin = UInt64(number(3) + 1)
        let second = Double(number(200))
        let video = "youtube:v\(number(4))"
        func add(_ type: String, _ json: String) throws {
            try script.add(
                type, #"{"video":"\#(video)""# + json + "}", at: second, origin: origin)
        }
        switch number(21) {
        case 0: try add("PlayabilityChecked", #","outcome":"playable""#)
        case 1: try add("PlayabilityChecked", #","outcome":"unplayable","reason":"live""#)
        case 2:
            try add(
                "PlayabilityChecked",
                """
                ,"outcome":"failed","reason":"timeout","attempt":\(number(3) + 1),
                 "retryAfterSeconds":\(number(90))
                """)
        case 3: try add("VideoExtracted", #","url":"https://example.org/\#(number(3))""#)
        case 4:
            try add(
                "ExtractionFailed",
                #","reason":"timeout","attempt":\#(number(3) + 1),"retryAfterSeconds":\#(number(90))"#
            )
        case 5, 6:
            try script.progress(
                "w\(number(3))", Double(number(101)), of: Double(number(3) * 100),
                played: number(2) == 0 ? nil : Double(number(100)), video: video,
                at: number(3) == 0 ? 100 : second, origin: origin)
        case 7:
            try add(
                "VideoWatched",
                #","startSeconds":0.1,"endSeconds":\#(number(9) + 1).3,"isComplete":\#(number(2) == 0)"#
            )
        case 8, 9:
            let position =
                number(3) == 0 ? "" : #","video":"\#(video)","positionSeconds":\#(number(90))"#
            try script.add(
                "NowPlayingChanged", #"{"device":"d\#(number(3))"\#(position)}"#, at: second,
                origin: origin)
        case 10, 11: try add("VideoQueued", #","queue":"q\#(number(2))""#)
        case 12, 13:
            let after = number(4)
            guard video != "youtube:v\(after)" else { return }
            try add("VideoQueuedNext", #","queue":"q\#(number(2))","after":"youtube:v\#(after)""#)
        case 14:
            if number(5) > 0 {
                try add("VideoUnqueued", #","queue":"q\#(number(2))""#)
            } else {
                try script.add(
                    "QueueCleared", #"{"queue":"q\#(number(2))"}"#, at: second, origin: origin)
            }
        case 15, 16:
            try add(
                "DownloadCompleted",
                #","device":"d\#(number(2))","bytes":\#(number(90)),"blob":"\#(String(repeating: "ab", count: 32))""#
            )
        case 17: try add("DownloadRemoved", #","device":"d\#(number(2))""#)
        case 18:
            try script.broadcast(
                "b\(number(3))", of: video, created: number(3) == 0 ? nil : Double(number(5)),
                updated: number(3) == 0 ? nil : second, removed: number(3) == 0, origin: origin)
        case 19:
            var listed = VideoListed()
            (listed.list, listed.entry) = (number(2) == 0 ? "stream" : "roll/r", "e\(number(3))")
            (listed.video, listed.removed) = (video, number(3) == 0)
            if number(2) == 0 { listed.listedAt = .init(milliseconds: Script.time(second)) }
            try script.observe(listed, at: number(2) == 0 ? nil : second, origin: origin)
        default:
            var frame = FrameObserved()
            (frame.frame, frame.video) = ("f\(number(3))", video)
            if number(2) == 0 {
                frame.firstUnplayableAt = .init(milliseconds: Script.time(Double(number(50))))
                frame.lastUnplayableAt = .init(milliseconds: Script.time(Double(number(300_000))))
            }
            try script.observe(frame, at: number(2) == 0 ? nil : second, origin: origin)
        }
    }

    @Test(arguments: projections.indices)
    func anyOrderGivesTheSameBytes(_ index: Int) throws {
        try checkOrderDoesNotMatter(
            Self.projections[index], Self.history(1_000, seed: runSeed), rounds: 6)
    }

    @Test(arguments: projections.indices)
    func smallHistoriesGiveTheSameBytesInAnyOrder(_ index: Int) throws {
        for seed in 0..<Soak.count(10, soak: 80) {
            let events = try Self.history(9, seed: runSeed &+ UInt64(seed) &* 1_000)
            try checkOrderDoesNotMatter(Self.projections[index], events, rounds: 5)
        }
    }
}
