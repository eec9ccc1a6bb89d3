import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// A projection that computes different rows from the same events needs a new version.
///
/// A stored view is identified by the name, version and parameters of its projection. If a fold
/// changes but the version of its projection does not, apps keep the rows of the old fold, and two
/// devices with the same events show different rows. `schema/vectors/digests-v1.txt` contains the
/// digest that each shipped version computes from one fixed history.
@Suite struct GoldenDigestTests {
    private static let file = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("schema/vectors/digests-v1.txt")

    /// The shipped projections with each value of their parameters `winner` and `watchLaterRule`.
    private static let sets = [
        VideoProjections(winner: .oldest, watchLaterRule: .crossing),
        VideoProjections(winner: .newest, watchLaterRule: .rule2012),
    ]

    @Test func changedFoldsHaveNewVersions() throws {
        let place = try TemporaryStore("digests")
        // Use a fixed origin, because rows may contain the origin of an event.
        var options = place.options
        options.randomID = { OriginID(high: 1, low: 1) }
        let log = try EventLog.create(place.path("log"), options: options)
        defer { log.close() }
        try log.appendBlocking(Self.history())
        var found: Set<String> = []
        for set in Self.sets {
            let runner = ProjectionRunner(log, projections: set.all)
            for (projection, report) in zip(
                set.all, try runner.rebuild(set.all.map(\.name)).projections)
            {
                #expect(report.name == projection.name && report.keys > 0)
                found.insert(
                    "\(projection.name) \(projection.version)"
                        + " \(projection.parameters.isEmpty ? "-" : projection.parameters)"
                        + " \(report.digest)")
            }
            runner.close()
        }
        let known = Set(
            try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n")
                .filter { !$0.hasPrefix("#") }.map(String.init))
        let unknown = found.subtracting(known).sorted()
        #expect(
            unknown.isEmpty,
            """
            A projection folds differently from its shipped version. Raise its version, so that stored \
            views of the old version are rebuilt, and add its line to \(Self.file.path). Never change a \
            line that is already in the file:
            \(unknown.joined(separator: "\n"))
            """)
    }

    // MARK: - The history

    /// Returns events for all projections.
    ///
    /// The events are generated activity, and observations that arrive late, arrive twice or
    /// contradict each other.
    static func history() throws -> [ProposedEvent] {
        var activity = ActivityGenerator(seed: 1, videos: 60)
        var events = try (0..<3_000).map { _ in try activity.next().event() }
        for number in 0..<120 {
            for (type, json) in observations(number) {
                let event = try EventCatalogue.video.proposal(
                    type: type, json: Array(json.utf8), atMilliseconds: start + UInt64(number))
                events.insert(event, at: (number * 31 + 7) % events.count)
            }
        }
        // These events are appended last, so that earlier events keep their numbers.
        for number in 0..<60 {
            for (type, json) in questions(number) {
                events.append(
                    try EventCatalogue.video.proposal(
                        type: type, json: json, atMilliseconds: start + UInt64(number * 97 % 60)))
            }
        }
        for number in 0..<60 {
            for (type, json) in birdTube(number) {
                events.append(
                    try EventCatalogue.video.proposal(
                        type: type, json: json,
                        atMilliseconds: start + UInt64(number * 97 % 60) * 3_600_000))
            }
        }
        events += try GoldenPlayback.events()
        events += try GoldenGroups.events()
        events += try GoldenWhale.events()
        for number in 0..<12 {
            events.append(
                try EventCatalogue.video.proposal(
                    type: "ScheduleListed", json: listing(number),
                    atMilliseconds: start + UInt64(number)))
        }
        for number in 0..<40 {
            events.append(
                try EventCatalogue.video.proposal(
                    type: "VideoDescribed", json: description(number),
                    atMilliseconds: start + UInt64(number * 97 % 40)))
        }
        for number in 0..<40 {
            for (type, json) in contacts(number) {
                events.append(
                    try EventCatalogue.video.proposal(
                        type: type, json: json, atMilliseconds: start + UInt64(number * 97 % 40)))
            }
        }
        for number in 0..<40 {
            events.append(
                try EventCatalogue.video.proposal(
                    type: "ListObserved", json: list(number),
                    atMilliseconds: start + UInt64(number * 97 % 40)))
        }
        for number in 0..<20 {
            for (type, json) in removedAnswers(number) {
                events.append(
                    try EventCatalogue.video.proposal(
                        type: type, json: json, atMilliseconds: start + UInt64(number * 97 % 20)))
            }
        }
        return events
    }

    /// Returns observations of an answer and a question, or of their removal.
    private static func removedAnswers(_ number: Int) -> [(type: String, json: String)] {
        [
            (
                "AnswerObserved",
                """
                {"answer":"w\(number % 12)","question":"q\(number % 12)",
                 "removed":\(number % 3 == 0)}
                """
            ),
            (
                "QuestionObserved",
                """
                {"question":"q\(number)","text":"why?","sender":"u1","receiver":"u\(number % 7)",
                 "removed":\(number % 4 == 0)}
                """
            ),
        ]
    }

    /// Returns an observation of a list that omits one of the fields.
    private static func list(_ number: Int) -> String {
        let fields = [
            #""title":"L\#(number)""#, #""owner":"u\#(number % 5)","ownerName":"n\#(number)""#,
            #""thumbnailUrl":"https://img.example.org/\#(number).jpg""#,
            #""followed":\#(number % 3 > 0)"#,
        ]
        let told = fields.enumerated().filter { $0.offset != number % 4 }.map(\.element)
        return #"{"list":"roll/\#(number % 9)",\#(told.joined(separator: ","))}"#
    }

    /// Returns a description of a video that omits one of the fields.
    private static func description(_ number: Int) -> String {
        let fields = [
            #""title":"D\#(number)""#, #""thumbnailUrl":"https://img.example.org/\#(number).jpg""#,
            #""description":"About \#(number)""#, #""durationSeconds":\#(number + 1)"#,
        ]
        let told = fields.enumerated().filter { $0.offset != number % 4 }.map(\.element)
        return #"{"video":"youtube:d\#(number % 7)",\#(told.joined(separator: ","))}"#
    }

    /// Returns an entry of the address book or its removal, and an address that a remote remembers.
    private static func contacts(_ number: Int) -> [(type: String, json: String)] {
        [
            (
                "ContactNoted",
                """
                {"address":"\(number % 2 == 0 ? "u" : "U")\(number % 9)@example.org",
                 "name":"Name \(number)","removed":\(number % 4 == 0)}
                """
            ),
            ("ContactObserved", #"{"address":"u\#(number % 13)@example.org","system":"shelby"}"#),
        ]
    }

    /// Returns submissions, openings and chat messages, both the user's intents and remote
    /// observations.
    private static func birdTube(_ number: Int) -> [(type: String, json: String)] {
        let (video, user) = ("youtube:t\(number % 9)", "u\(number % 4)@example.org")
        let account = #"{"account":"\#(user)","system":"birdtube"}"#
        return [
            ("VideoSubmitted", #"{"video":"youtube:t\#(number % 14)","title":"T \#(number)"}"#),
            (
                "SubmissionObserved",
                """
                {"video":"\(video)","title":"Seen \(number)","views":"\(number * 7 % 20)",
                 "owner":"\(user)","createdAt":"2015-01-\(two(1 + number % 9))T00:00:00Z"}
                """
            ),
            (
                "VideoOpened",
                #"{"video":"\#(video)","viewer":"\#(user)","viewing":"w\#(number % 50)"}"#
            ),
            ("ChatMessagePosted", #"{"video":"\#(video)","text":"said \#(number)"}"#),
            (
                "ChatMessageObserved",
                """
                {"message":\(number % 40 + 1),"video":"\(video)","text":"seen \(number)",
                 "sender":"\(user)","isBlocked":\(number % 5 == 0),
                 "at":"2015-02-01T00:00:\(two(number % 40))Z"}
                """
            ),
            (
                "AccountObserved",
                """
                {"account":"\(user)","system":"birdtube","services":["s\(number % 3)"]
                 \(number % 3 == 0 ? #","nickname":"n\#(number)""# : "")}
                """
            ),
            (number % 3 == 0 ? "SignedOut" : "SignedIn", account),
        ]
    }

    /// Returns questions and answers, both the user's intents and remote observations.
    private static func questions(_ number: Int) -> [(type: String, json: String)] {
        let (user, question, answer) = (number % 7, number % 20, number % 12)
        let hash = String(repeating: two(number), count: 32)
        return [
            (
                "UserObserved",
                #"{"user":"u\#(user)","username":"n\#(number)","followerCount":"\#(number % 4)"}"#
            ),
            ("QuestionAsked", #"{"receiver":"u\#(user)","text":"why \#(number)?"}"#),
            (
                "QuestionObserved",
                #"{"question":"q\#(question)","text":"why?","sender":"u1","receiver":"u\#(user)"}"#
            ),
            (
                "AnswerRecorded",
                """
                {"question":"q\(question)","blob":"\(hash)","thumbnail":"\(hash)",
                 "durationSeconds":\(number + 1),"videoExtension":"mov","thumbnailExtension":"png"}
                """
            ),
            (
                "AnswerObserved",
                #"{"answer":"w\#(answer)","question":"q\#(answer)","likeCount":"\#(number % 5)"}"#
            ),
            ("LikeToggled", #"{"answer":"w\#(answer)","isOn":\#(number % 3 > 0)}"#),
            ("LikeObserved", #"{"like":"l\#(number)","answer":"w\#(answer)","user":"u\#(user)"}"#),
            ("CommentPosted", #"{"answer":"w\#(answer)","text":"said \#(number)"}"#),
            (
                "CommentObserved",
                #"{"comment":"whale:\#(number)","answer":"w\#(answer)","text":"seen \#(number)"}"#
            ),
        ]
    }

    private static let start = ActivityGenerator.startMilliseconds

    private static func observations(_ number: Int) -> [(type: String, json: String)] {
        let show = 1 + number % 5
        // The versions of shows decrease as often as they increase.
        let updated = 1_420_000_000 + number * 7_919 % 101
        let (episode, day) = (100 + number % 40, 1 + number % 28)
        return [
            (
                "ShowObserved",
                """
                {"show":\(show),"updated":\(updated),"name":"Show \(show), take \(number)","genres":["Drama"],
                 "runtimeMinutes":\(20 + number % 50),"premiered":"2014-01-\(two(day))",
                 "summary":"<p>Nothing &amp; \(number)</p>"
                 \(number % 7 == 0 ? #","cleared":["genres"]"# : "")}
                """
            ),
            (
                "EpisodeScheduled",
                """
                {"episode":\(episode),"show":\(show),"showUpdated":\(updated),"name":"Episode \(episode)",
                 "season":\(1 + number / 40),"number":\(number % 40),"airdate":"2015-01-\(two(day))",
                 "airtime":"20:\(two(number % 60))","airstamp":"2015-01-\(two(day))T20:\(two(number % 60)):00Z"}
                """
            ),
            (
                "CastObserved",
                """
                {"show":\(show),"showUpdated":\(updated),"cast":[{"personId":\(number + 1),
                 "person":"Person \(number)","characterId":\(number % 9 + 1),"character":"Character"}]}
                """
            ),
        ]
    }

    /// Returns the list of a day's episodes; every third list arrives late, and some episodes are
    /// missing from the lists.
    private static func listing(_ number: Int) -> String {
        let second = number % 3 == 2 ? number - 2 : number
        let ids = (0..<30).filter { $0 % 12 != number }.map { 100 + $0 }
        return """
            {"date":"2015-01-\(two(1 + number % 4))","country":"US","web":\(number % 5 == 0),
             "listedAt":"2015-01-01T00:00:\(two(second))Z","episodes":\(ids)}
            """
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
