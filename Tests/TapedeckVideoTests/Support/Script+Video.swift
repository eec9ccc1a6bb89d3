import TapedeckModel
import TapedeckVideo

extension Script {
    /// Adds an observation of a broadcast; times are in seconds since the start of the script.
    mutating func broadcast(
        _ id: String, of video: String = "youtube:one", created: Double? = nil,
        updated: Double? = nil, title: String? = nil, sharer: String? = nil, comment: String? = nil,
        liked: Bool? = nil, watchLater: Bool? = nil, watched: Bool? = nil, image: String? = nil,
        message: String? = nil, removed: Bool = false, origin: UInt64 = 1
    ) throws {
        var event = BroadcastReceived()
        event.broadcast = id
        event.video = video
        if let created { event.createdAt = .init(milliseconds: Script.time(created)) }
        if let updated { event.updatedAt = .init(milliseconds: Script.time(updated)) }
        if let title { event.title = title }
        if let sharer { event.sharer = sharer }
        if let comment { event.comment = comment }
        if let liked { event.liked = liked }
        if let watchLater { event.watchLater = watchLater }
        if let watched { event.watched = watched }
        if let image { event.sharerImageURL = "https://img.example.org/\(image).jpg" }
        if let message { event.message = message }
        if removed { event.removed = true }
        try add(event, origin: origin)
    }

    /// Adds a remote's description of a video.
    mutating func description(
        of video: String = "youtube:one", title: String? = nil, thumbnail: String? = nil,
        text: String? = nil, duration: Double? = nil, at second: Double? = nil, origin: UInt64 = 1
    ) throws {
        var event = VideoDescribed()
        event.video = video
        if let title { event.title = title }
        if let thumbnail { event.thumbnailURL = "https://img.example.org/\(thumbnail).jpg" }
        if let text { event.description_p = text }
        if let duration { event.durationSeconds = duration }
        try observe(event, at: second, origin: origin)
    }

    mutating func comment(
        _ text: String, on video: String = "youtube:one", author: String? = nil, at second: Double,
        origin: UInt64 = 1
    ) throws {
        var event = CommentPosted()
        event.video = video
        event.text = text
        if let author { event.author = author }
        try add(event, at: second, origin: origin)
    }

    mutating func toggle(
        _ isOn: Bool, _ video: String = "youtube:one", at second: Double, origin: UInt64 = 1
    ) throws {
        var event = WatchLaterToggled()
        event.video = video
        event.isOn = isOn
        try add(event, at: second, origin: origin)
    }

    /// Adds a report that `viewing` is at `percent` of a video that lasts `duration` seconds.
    mutating func progress(
        _ viewing: String, _ percent: Double, of duration: Double = 400, played: Double? = nil,
        video: String = "youtube:one", at second: Double, origin: UInt64 = 1
    ) throws {
        var event = PlaybackProgressed()
        event.video = video
        event.viewing = viewing
        event.positionSeconds = duration * percent / 100
        event.durationSeconds = duration
        if let played { event.playedSeconds = played }
        try add(event, at: second, origin: origin)
    }

    /// Adds a remote's confirmation of a toggle: `broadcast` has the mark at the given version.
    mutating func confirmation(
        of toggle: EventID, _ video: String, by broadcast: String, version second: Double,
        at time: Double, origin: UInt64 = 1
    ) throws {
        // The field numbers are defined in schema/tapedeck/remote/v1/remote.proto.
        var rest = Script.field(5, broadcast) + [10 << 3]
        var version = UInt64(Script.time(second))
        while version >= 0x80 {
            rest.append(UInt8(version & 0x7F) | 0x80)
            version >>= 7
        }
        rest.append(UInt8(version))
        outcome(
            .confirmed, of: toggle, try VideoKey(video).tag, rest: rest, at: time, origin: origin)
    }

    /// The numbers of `OutcomeRecorded.Kind` that decide what lists show.
    enum OutcomeKind: UInt8, CaseIterable {
        case dispatched = 1
        case confirmed
        case refused
        case retried = 6
        case dropped
    }

    /// Adds an outcome of an intent; the code of a refusal is `remoteError`.
    mutating func outcome(
        _ kind: OutcomeKind, of intent: EventID, _ tag: Tag, rest: [UInt8] = [], at time: Double,
        origin: UInt64 = 1
    ) {
        // The field numbers are defined in schema/tapedeck/remote/v1/remote.proto.
        var payload = Script.field(2, intent.description) + [4 << 3, kind.rawValue] + rest
        if kind == .refused { payload += Script.field(6, "remoteError") }
        add(
            ProposedEvent(type: "OutcomeRecorded", tags: [tag], payload: payload), at: time,
            origin: origin)
    }

    private static func field(_ number: UInt8, _ text: String) -> [UInt8] {
        [number << 3 | 2, UInt8(text.utf8.count)] + Array(text.utf8)
    }

    /// Adds an observation at `second`, counted from the start of the script, or at an unknown time
    /// if `second` is nil.
    mutating func observe(
        _ observation: some Observation, at second: Double? = nil, origin: UInt64 = 1
    ) throws {
        add(
            try ProposedEvent(observation: observation, observedAt: second.map { Script.time($0) }),
            origin: origin)
    }

    /// Adds an observation of a comment on a video, or on an answer if no video is given.
    mutating func seenComment(
        _ id: Int, _ text: String, on answer: String = "1", video: String? = nil,
        author: String? = nil, created: Double? = nil, postedAs: EventID? = nil,
        removed: Bool = false, at second: Double? = nil, origin: UInt64 = 1
    ) throws {
        var event = CommentObserved()
        event.comment = "whale:\(id)"
        event.text = text
        if let video { event.video = video } else { event.answer = answer }
        if let author { event.author = author }
        if let created { event.createdAt = .init(milliseconds: Script.time(created)) }
        if let postedAs { event.postedAs = postedAs.description }
        if removed { event.removed = true }
        try observe(event, at: second, origin: origin)
    }

    /// Adds an observation of a user's like of an answer.
    mutating func seenLike(
        _ id: Int, of answer: String = "1", by user: String, removed: Bool = false,
        at second: Double? = nil, origin: UInt64 = 1
    ) throws {
        var event = LikeObserved()
        (event.like, event.answer, event.user) = ("\(id)", answer, user)
        if removed { event.removed = true }
        try observe(event, at: second, origin: origin)
    }

    /// Adds an observation of an answer, or of its removal.
    mutating func seenAnswer(
        _ id: String, to question: String, likes: UInt64? = nil, comments: UInt64? = nil,
        cleared: [String] = [], removed: Bool = false, at second: Double? = nil,
        origin: UInt64 = 1
    ) throws {
        var event = AnswerObserved()
        event.answer = id
        event.question = question
        if removed {
            event.removed = true
        } else {
            event.videoURL = "http://media.example.org/\(id)"
        }
        if let likes { event.likeCount = likes }
        if let comments { event.commentCount = comments }
        event.cleared = cleared
        try observe(event, at: second, origin: origin)
    }

    /// Adds an observation of a question.
    mutating func seenQuestion(
        _ id: String, _ text: String, from sender: String = "2", to receiver: String = "1",
        postedAs: EventID? = nil, removed: Bool = false, at second: Double? = nil,
        origin: UInt64 = 1
    ) throws {
        var event = QuestionObserved()
        event.question = id
        event.text = text
        event.sender = sender
        event.receiver = receiver
        if let postedAs { event.postedAs = postedAs.description }
        if removed { event.removed = true }
        try observe(event, at: second, origin: origin)
    }
}
