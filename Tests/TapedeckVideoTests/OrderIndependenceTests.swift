import TapedeckModel
import TapedeckProjections
import TapedeckVideo
import TestSupport
import Testing

/// Events of three origins fold to the same bytes in any order.
@Suite(.offTasks) struct OrderIndependenceTests {
    static let projections: [any Projection] =
        VideoProjections.standard.all + [
            VideoList(winner: .newest), WatchLater(rule: .rule2012),
            ViewCounts(window: .seconds(7_200)),
        ]

    /// Returns a history over few keys, so that many events share a key.
    static func history(_ count: Int, seed: UInt64) throws -> [RecordedEvent] {
        var generator = SeededGenerator(seed: seed)
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
        func maybe<Value>(_ value: Value) -> Value? { number(3) == 0 ? nil : value }
        var script = Script()
        var toggles: [(id: EventID, video: String)] = []
        for _ in 0..<count {
            let origin = UInt64(number(3) + 1)
            let second = Double(number(200))
            let video = "youtube:v\(number(4))"
            if number(3) == 0 {
                try script.birdTube(&generator)
                continue
            }
            if number(3) == 0 {
                try script.whale(&generator)
                continue
            }
            switch number(17) {
            case 15, 16:
                let intents = script.events.filter {
                    [CommentPosted.eventType, QuestionAsked.eventType].contains($0.proposal.type)
                }
                guard let intent = intents.randomElement(using: &generator),
                    let tag = intent.proposal.tags.first,
                    let kind = Script.OutcomeKind.allCases.randomElement(using: &generator)
                else { continue }
                script.outcome(kind, of: intent.id, tag, at: second, origin: origin)
            case 0, 1, 2:
                try script.broadcast(
                    "b\(number(6))", of: video, created: maybe(Double(number(5))),
                    updated: maybe(Double(number(200))), title: maybe("t\(number(3))"),
                    sharer: maybe("s\(number(3))"), comment: maybe("c\(number(2))"),
                    liked: maybe(number(2) == 0), watchLater: maybe(number(2) == 0),
                    watched: maybe(number(2) == 0), image: maybe("i\(number(2))"),
                    message: number(3) == 0 ? "whale:\(number(9))" : nil,
                    removed: number(4) == 0, origin: origin)
                try script.description(
                    of: video, title: maybe("t\(number(3))"), thumbnail: maybe("i\(number(2))"),
                    text: maybe("d\(number(2))"), duration: maybe(Double(number(3) + 1)),
                    at: maybe(second), origin: origin)
                var listed = VideoListed()
                (listed.list, listed.entry) = (maybe("stream") ?? "roll/r", "e\(number(6))")
                (listed.video, listed.removed) = (video, number(4) == 0)
                try script.observe(listed, at: maybe(second), origin: origin)
            case 3: try script.comment("c\(number(9))", on: video, at: second, origin: origin)
            case 4: try script.toggle(number(3) > 0, video, at: second, origin: origin)
            case 5:
                if number(2) == 0, let toggle = toggles.randomElement(using: &generator) {
                    try script.confirmation(
                        of: toggle.id, toggle.video, by: "b\(number(6))",
                        version: Double(number(200)), at: second, origin: origin)
                } else {
                    try script.toggle(true, video, at: second, origin: origin)
                    toggles += script.events.last.map { [($0.id, video)] } ?? []
                }
            case 6, 7:
                try script.progress(
                    "w\(number(9))", Double(number(101)), of: Double(number(5) * 100), video: video,
                    at: second, origin: origin)
            case 8:
                try script.add(
                    "AnswerUploaded",
                    #"{"question":"q","answer":"a\#(number(3))","durationSeconds":\#(number(9))}"#,
                    at: second, origin: origin)
                try script.add(
                    "CommentPosted", #"{"answer":"a\#(number(3))","text":"x\#(number(9))"}"#,
                    at: second, origin: origin)
            case 10, 11:
                // An observation may name a posted comment or one that is not known yet.
                let posted = script.events.filter { $0.proposal.type == CommentPosted.eventType }
                let fresh = EventID(origin: OriginID(high: origin, low: 7), sequence: 400)
                try script.seenComment(
                    number(9), "c\(number(3))", on: "a\(number(3))",
                    video: number(2) == 0 ? video : nil, author: maybe("s\(number(2))"),
                    created: number(4) == 0 ? Double(number(5)) : nil,
                    postedAs: number(2) == 0
                        ? nil : posted.randomElement(using: &generator)?.id ?? fresh,
                    removed: number(4) == 0, at: maybe(second), origin: origin)
            case 12:
                try script.seenAnswer(
                    "a\(number(3))", to: "q\(number(2))", likes: maybe(UInt64(number(3))),
                    cleared: number(3) == 0 ? ["commentCount"] : [], removed: number(4) == 0,
                    at: maybe(second), origin: origin)
                try script.seenLike(
                    number(20) + 1, of: "a\(number(3))", by: "u\(number(3))",
                    removed: number(4) == 0, at: maybe(second), origin: origin)
            case 13:
                let asked = script.events.filter { $0.proposal.type == QuestionAsked.eventType }
                try script.seenQuestion(
                    "q\(number(4))", "t\(number(3))", to: "u\(number(2))",
                    postedAs: number(2) == 0 ? nil : asked.randomElement(using: &generator)?.id,
                    removed: number(4) == 0, at: maybe(second), origin: origin)
                try script.add(
                    "QuestionAsked", #"{"receiver":"u\#(number(2))","text":"x"}"#, at: second,
                    origin: origin)
                try script.add(
                    "AnswerRecorded",
                    """
                    {"question":"q\(number(4))","blob":"\(String(repeating: "ab", count: 32))",
                     "thumbnail":"\(String(repeating: "cd", count: 32))","videoExtension":"mov",
                     "thumbnailExtension":"jpg","durationSeconds":\(number(119) + 1)}
                    """, at: second, origin: origin)
                var user = UserObserved()
                user.user = "u\(number(2))"
                if number(2) == 0 {
                    user.username = "n\(number(3))"
                } else {
                    user.followerCount = UInt64(number(3))
                    user.cleared = number(2) == 0 ? ["followingCount"] : []
                }
                try script.observe(user, at: maybe(second), origin: origin)
            case 14:
                let address = ["a", "A", "b"][number(3)] + "@example.org"
                try script.add(
                    "ContactNoted",
                    #"{"address":"\#(address)","name":"n\#(number(3))","removed":\#(number(3) == 0)}"#,
                    at: second, origin: origin)
                var seen = ContactObserved()
                (seen.address, seen.system) = (address, "shelby")
                try script.observe(seen, at: maybe(second), origin: origin)
                var list = ListObserved()
                list.list = "roll/\(number(2))"
                if number(2) == 0 { list.title = "t\(number(3))" }
                if number(2) == 0 { list.followed = number(2) == 0 }
                try script.observe(list, at: maybe(second), origin: origin)
            default:
                let summary = number(2) == 0 ? #""cleared":["summary"]"# : #""summary":"s""#
                let (show, version, name) = (number(3) + 1, number(9), number(5))
                let (episode, season) = (number(5) + 1, number(3))
                try script.add(
                    "ShowObserved",
                    #"{"show":\#(show),"updated":\#(version),"name":"n\#(name)",\#(summary)}"#,
                    origin: origin)
                try script.add(
                    "EpisodeScheduled",
                    """
                    {"show":\(show),"episode":\(episode),"showUpdated":\(version),
                     "season":\(season)}
                    """,
                    origin: origin)
                let listed = (1...6).filter { _ in number(2) == 0 }
                try script.add(
                    "ScheduleListed",
                    """
                    {"date":"2019-07-1\(number(2))","country":"US","web":\(number(3) == 0),
                     "listedAt":"2019-07-01T00:00:0\(number(9))Z","episodes":\(listed)}
                    """,
                    origin: origin)
            }
        }
        return script.events
    }

    @Test(arguments: projections.indices)
    func anyOrderGivesTheSameBytes(_ index: Int) throws {
        let events = try Self.history(Soak.count(250, soak: 1_000), seed: runSeed)
        try checkOrderDoesNotMatter(
            Self.projections[index], events, rounds: Soak.count(3, soak: 6))
    }

    @Test(arguments: projections.indices)
    func smallHistoriesGiveTheSameBytesInAnyOrder(_ index: Int) throws {
        for seed in 0..<Soak.count(15, soak: 60) {
            let events = try Self.history(12, seed: runSeed &+ UInt64(seed) &* 1_000)
            try checkOrderDoesNotMatter(Self.projections[index], events, rounds: 5)
        }
    }

    @Test func historiesContainRemovedAnswersWithCommentsAndLikes() throws {
        let answers = VideoProjections.standard.answers
        var letters: Set<UInt8> = []
        for seed in 1...20 {
            let events = try Self.history(250, seed: UInt64(seed))
            for items in try folded(answers, events).snapshot.items.values {
                letters.formUnion(items.compactMap(\.key.first).filter { $0 >= 0x80 })
            }
        }
        // The names of hidden comments and likes.
        #expect(letters.isSuperset(of: "lou".utf8.map { $0 | 0x80 }))
    }

    @Test func orderCheckCatchesAFoldThatDependsOnArrival() throws {
        let events = try Self.history(60, seed: 1)
        withKnownIssue { try checkOrderDoesNotMatter(LastArrival(), events) }
    }
}

/// A fold that depends on the order of arrival; the order check must reject it.
private struct LastArrival: Projection {
    struct State: ProjectionState {
        var last: UInt64 = 0
        init() {}
        init(decoding bytes: inout StateReader) throws { last = try bytes.uint64() }
        func encode(into bytes: inout StateWriter) { bytes.add(last) }
    }

    let name = "last-arrival"
    let version = 1
    let tagKind = "video"
    let eventTypes: [EventType] = [WatchLaterToggled.eventType, PlaybackProgressed.eventType]
    let law = FoldLaw.any

    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.last = event.id.sequence
    }
}
