import TapedeckModel
import TapedeckVideo

/// Likes, shares and remote lists for the history of `GoldenDigestTests`.
enum GoldenGroups {
    static func events() throws -> [ProposedEvent] {
        try (0..<80).flatMap { number -> [ProposedEvent] in
            let video = "youtube:g\(number % 11)"
            let list = ["stream", "personal-roll", "roll/1", "dashboard/2"][number % 4]
            let texts: [(type: String, json: String)] = [
                ("LikeToggled", #"{"video":"\#(video)","isOn":\#(number % 3 != 0)}"#),
                (
                    "VideoListed",
                    """
                    {"list":"\(list)","entry":"e\(number % 50)","video":"\(video)",
                     "listedAt":"2014-03-01T00:00:\(10 + number % 50)Z",
                     "removed":\(number % 7 == 0)}
                    """
                ),
                (
                    "VideoShared",
                    #"{"video":"\#(video)","destinations":["email"],"to":"u\#(number % 5)@example.org"}"#
                ),
            ]
            return try texts.map {
                try EventCatalogue.video.proposal(
                    type: $0.type, json: $0.json,
                    atMilliseconds: 1_393_632_000_000 + UInt64(number * 97 % 80))
            }
        }
    }
}
