import Tapedeck
import TapedeckTesting

/// Segmented answers, profiles and followers for the history of `GoldenDigestTests`.
enum GoldenWhale {
    private static let rounds = 60

    /// Returns the events; add new types at the end, so that existing events keep their numbers.
    static func events() throws -> [ProposedEvent] {
        try (0..<rounds).flatMap { number in
            try list(number).map { type, json in
                try EventCatalogue.video.proposal(
                    type: type, json: json,
                    atMilliseconds: ActivityGenerator.startMilliseconds
                        + UInt64(number * 7_919 % 101 * 1_000))
            }
        }
    }

    private static func list(_ number: Int) -> [(type: String, json: String)] {
        let digest = String(repeating: "cd", count: 32)
        let recording = #""question":"q\#(number % 20)","recording":"r\#(number % 7)""#
        let edge = #""user":"u\#(number % 7)","follower":"u\#(number % 6 + 7)""#
        return [
            (
                "AnswerSegmentRecorded",
                """
                {\(recording),"segment":"s\(number % 9)","blob":"\(digest)",
                 "durationSeconds":\(number % 50 + 1).125}
                """
            ),
            ("AnswerMergeStarted", #"{\#(recording),"segments":["s\#(number % 4)"]}"#),
            ("AnswerMergeFailed", #"{\#(recording),"reason":"interrupted"}"#),
            ("AnswerSegmentRemoved", #"{\#(recording),"segment":"s\#(number % 5)"}"#),
            (
                "AnswerRecorded",
                """
                {"question":"q\(number % 20)","blob":"\(digest)","thumbnail":"\(digest)",
                 "durationSeconds":\(number + 1),"videoExtension":"mov","thumbnailExtension":"png",
                 "recording":"r\(number % 3)"}
                """
            ),
            ("ProfileEdited", #"{"user":"u\#(number % 7)","about":"about \#(number)"}"#),
            ("ProfileEdited", #"{"user":"u\#(number % 5)","cleared":["about","firstName"]}"#),
            ("FollowToggled", #"{\#(edge),"isOn":\#(number % 3 > 0)}"#),
            ("FollowObserved", #"{\#(edge),"isOn":\#(number % 4 > 0)}"#),
        ]
    }
}
