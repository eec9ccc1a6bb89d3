import Tapedeck
import TapedeckTesting

/// Playback events for the history of `GoldenDigestTests`.
enum GoldenPlayback {
    /// The number of rounds for each group of event types.
    private static let rounds = 60

    /// Returns the events of all groups.
    ///
    /// Add new types at the end, so that existing events keep their numbers. Do not add a type that
    /// a shipped projection folds, because the digest of that projection would change.
    static func events() throws -> [ProposedEvent] {
        try lists.flatMap { list in
            try (0..<rounds).flatMap { number in
                try list(number).map { type, json in
                    try EventCatalogue.video.proposal(
                        type: type, json: json,
                        atMilliseconds: ActivityGenerator.startMilliseconds
                            + UInt64(number * 7_919 % 101 * 1_000))
                }
            }
        }
    }

    private typealias List = @Sendable (_ number: Int) -> [(type: String, json: String)]

    private static let lists: [List] = [checks, extractions, nowPlaying, queues, downloads]

    private static func checks(_ number: Int) -> [(type: String, json: String)] {
        let video = "youtube:p\(number % 7)"
        let outcome =
            switch number % 3 {
            case 0: #""outcome":"playable""#
            case 1: #""outcome":"unplayable","reason":"live""#
            default:
                #""outcome":"failed","reason":"timeout","attempt":2,"retryAfterSeconds":60"#
            }
        return [
            ("PlayabilityChecked", #"{"video":"\#(video)",\#(outcome)}"#),
            (
                "FrameObserved",
                """
                {"frame":"f\(number % 11)","video":"\(video)",
                 "firstUnplayableAt":"2014-01-0\(1 + number % 9)T00:00:00Z",
                 "lastUnplayableAt":"2014-02-0\(1 + number % 9)T00:00:00Z"}
                """
            ),
        ]
    }

    private static func extractions(_ number: Int) -> [(type: String, json: String)] {
        let video = "youtube:p\(number % 7)"
        return [
            (
                "ExtractionFailed",
                #"{"video":"\#(video)","reason":"timeout","attempt":1,"retryAfterSeconds":\#(number)}"#
            ),
            (
                "VideoExtracted",
                #"{"video":"youtube:p\#(number % 5)","url":"https://example.org/\#(number)"}"#
            ),
            (
                "VideoWatched",
                #"{"video":"\#(video)","startSeconds":1,"endSeconds":\#(number % 9 + 2),"isComplete":\#(number % 4 == 0)}"#
            ),
        ]
    }

    private static func nowPlaying(_ number: Int) -> [(type: String, json: String)] {
        [
            (
                "NowPlayingChanged",
                """
                {"device":"d\(number % 4)","video":"youtube:p\(number % 7)","viewing":"golden-\(number % 9)",
                 "positionSeconds":\(number),"isPlaying":\(number % 2 == 0)}
                """
            )
        ]
    }

    private static func queues(_ number: Int) -> [(type: String, json: String)] {
        let video = "youtube:p\(number % 11)"
        return [
            ("VideoQueued", #"{"video":"\#(video)"}"#),
            (
                "VideoQueuedNext",
                #"{"video":"\#(video)","after":"youtube:p\#((number + 1 + number % 9) % 11)"}"#
            ),
            ("VideoUnqueued", #"{"video":"youtube:p\#(number * 5 % 11)"}"#),
        ] + (number % 20 == 0 ? [("QueueCleared", "{}")] : [])
    }

    private static func downloads(_ number: Int) -> [(type: String, json: String)] {
        let place = #""device":"d\#(number % 3)","video":"youtube:p\#(number % 11)""#
        let blob = String(repeating: "ab", count: 32)
        return [
            number % 3 == 2
                ? ("DownloadRemoved", "{\(place)}")
                : ("DownloadCompleted", #"{\#(place),"blob":"\#(blob)","bytes":\#(number)}"#)
        ]
    }
}
