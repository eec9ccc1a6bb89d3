import Tapedeck
import TapedeckModel
import TapedeckTesting
import Testing

/// Lists of what people say and ask that are followed are the lists that queries give.
@Suite struct LiveTalkTests {
    private let place: TemporaryStore
    private let store: TapedeckStore
    private var random = SeededGenerator.fromEnvironment()
    /// What the user has wanted so far.
    private var intents: [(id: EventID, tags: [TapedeckModel.Tag])] = []

    init() throws {
        place = try TemporaryStore("live-talk")
        store = try place.open()
    }

    private mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    private var at: UInt64 { place.clock.milliseconds }

    private mutating func sight(_ sighting: some Observation) throws {
        let late = UInt64(number(50)) * 1_000
        try store.log.appendBlocking([
            try ProposedEvent(sighting: sighting, observedAt: Int64(at - late))
        ])
    }

    private mutating func want(_ event: some Event) throws {
        let proposal = try ProposedEvent(event)
        intents.append((try store.log.appendBlocking([proposal]).firstID, proposal.tags))
    }

    private mutating func outcome() throws {
        guard let intent = intents.randomElement(using: &random) else { return }
        let kinds: [OutcomeRecorded.Kind] = [.dispatched, .confirmed, .refused, .unknown, .dropped]
        let kind = kinds[number(kinds.count)]
        let isChat = intent.tags.contains { $0.kind == "video" }
        var event = try ProposedEvent(
            OutcomeRecorded.with {
                $0.system = isChat ? BirdTube.system : Whale.system
                ($0.intent, $0.kind) = (intent.id.description, kind)
                if kind == .refused { ($0.code, $0.message) = ("remoteError", "no") }
            })
        event.tags = intent.tags
        try store.log.appendBlocking([event])
    }

    /// Something that somebody says, asks, likes or is called.
    private mutating func anything() throws {
        let (user, other) = ("\(number(3) + 1)", "\(number(3) + 1)")
        // Nobody follows themselves.
        let follower = user == other ? "4" : user
        let (answer, question) = ("\(number(4))", "\(number(4))")
        let video = "youtube:v\(number(2))"
        let digest = String(repeating: "ab", count: 32)
        let (text, id, isOn) = ("t\(number(9))", number(9), number(3) > 0)
        let isTold = number(2) == 0
        let posted = number(3) == 0 ? intents.randomElement(using: &random)?.id.description : nil
        let time = Int64(at) - Int64(number(5)) * 1_000
        switch number(17) {
        case 0:
            try sight(
                UserObserved.with {
                    ($0.user, $0.username) = (user, "name\(id)")
                    if isTold { $0.isOwn = user == "1" }
                })
        case 1:
            try sight(
                QuestionObserved.with {
                    ($0.question, $0.text, $0.sender, $0.receiver) = (question, text, user, other)
                })
        case 2:
            try sight(
                AnswerObserved.with {
                    ($0.answer, $0.question) = (answer, question)
                    $0.videoURL = "https://media.example.org/\(answer).mp4"
                    if isTold { $0.likeCount = UInt64(id) }
                })
        case 3, 4:
            try sight(
                CommentObserved.with {
                    ($0.answer, $0.comment, $0.text, $0.author) = (answer, "\(id)", text, user)
                    if isTold { $0.createdAt = .init(milliseconds: time) }
                    if let posted { $0.postedAs = posted }
                })
        case 5: try want(CommentPosted.with { ($0.answer, $0.text) = (answer, text) })
        case 6: try want(CommentPosted.with { ($0.video, $0.text) = (video, text) })
        case 7:
            try sight(
                BroadcastReceived.with {
                    ($0.broadcast, $0.video, $0.comment) = ("b\(id)", video, text)
                    $0.createdAt = .init(milliseconds: time)
                })
        case 8: try want(LikeToggled.with { ($0.answer, $0.isOn) = (answer, isOn) })
        case 9:
            try want(
                FollowToggled.with { ($0.user, $0.follower, $0.isOn) = (other, follower, isOn) })
        case 10:
            try sight(
                FollowObserved.with { ($0.user, $0.follower, $0.isOn) = (other, follower, isOn) })
        case 11: try want(QuestionAsked.with { ($0.receiver, $0.text) = (other, text) })
        case 12:
            try want(
                AnswerRecorded.with {
                    ($0.question, $0.blob, $0.thumbnail) = (question, digest, digest)
                    ($0.videoExtension, $0.thumbnailExtension) = ("mov", "jpg")
                    $0.durationSeconds = 12
                })
        case 13:
            try want(ChatMessagePosted.with { ($0.video, $0.text) = (video, text) })
        case 14, 15:
            try sight(
                ChatMessageObserved.with {
                    ($0.message, $0.video, $0.text) = (Int64(id + 1), video, text)
                    $0.at = .init(milliseconds: time)
                    if isTold { $0.isBlocked = !isOn }
                    if let posted { $0.postedAs = posted }
                })
        default: try outcome()
        }
    }

    /// The first entries, and whether there are more.
    private static func front<Entry>(_ all: [Entry], _ limit: Int) -> ([Entry], Bool) {
        (Array(all.prefix(limit)), all.count > limit)
    }

    @Test mutating func everyListIsWhatAQueryGives() throws {
        let note = "\(random)"
        let most = QueryLimits.pageCountMax
        for limit in [3, 100] {
            var answers = FollowedList<AnswerEntry>("answers", store, .answers(limit: limit)) {
                queries, _ in
                Self.front(try queries.answers(limit: most).answers, limit)
            }
            var questions = FollowedList<QuestionEntry>(
                "questions", store, .questions(limit: limit)
            ) { queries, _ in Self.front(try queries.questions(limit: most).questions, limit) }
            var mine = FollowedList<QuestionEntry>(
                "questions to 1", store, .questions(to: "1", isPending: false, limit: limit)
            ) { queries, _ in
                let found = try queries.questions(to: "1", isPending: false, limit: most).questions
                return Self.front(found.filter { $0.state != .asking }, limit)
            }
            var users = FollowedList<UserEntry>("users", store, .users(limit: limit)) {
                queries, _ in Self.front(try queries.users(limit: most).users, limit)
            }
            var followers = FollowedList<FollowEntry>(
                "followers", store, try .follows(of: "1", limit: limit)
            ) { queries, _ in Self.front(try queries.follows(of: "1", limit: most).users, limit) }
            var ofAnswer = FollowedList<CommentEntry>(
                "comments of an answer", store, try .comments(answer: "1", limit: limit)
            ) { queries, _ in
                Self.front(try queries.comments(answer: "1", limit: most).comments, limit)
            }
            var ofVideo = FollowedList<CommentEntry>(
                "comments of a video", store, try .comments(video: "youtube:v1", limit: limit)
            ) { queries, _ in
                Self.front(try queries.comments(video: "youtube:v1", limit: most).comments, limit)
            }
            var chat = FollowedList<ChatEntry>(
                "chat", store, try .chat(video: "youtube:v1", limit: limit)
            ) { queries, _ in
                let all = try queries.chat(video: "youtube:v1", isGuestAllowed: true, limit: most)
                let shown = all.messages.filter { $0.state == .shown }
                let waiting = all.messages.filter { $0.state != .shown }
                return Self.front(waiting + shown.reversed(), limit)
            }
            for round in 0..<60 {
                for _ in 0..<1 + number(5) { try anything() }
                place.clock.advance(by: .seconds(1))
                let note = "limit \(limit), round \(round), \(note)"
                try answers.check(store, note)
                try questions.check(store, note)
                try mine.check(store, note)
                try users.check(store, note)
                try followers.check(store, note)
                try ofAnswer.check(store, note)
                try ofVideo.check(store, note)
                try chat.check(store, note)
            }
        }
    }
}
