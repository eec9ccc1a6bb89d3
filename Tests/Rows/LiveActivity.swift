import Tapedeck
import TapedeckModel
import TapedeckTesting
import TapedeckVideo

/// A store that records random events for all lists, in any order and often late.
struct LiveActivity {
    let place: TemporaryStore
    let store: TapedeckStore
    private(set) var random: SeededGenerator
    /// The user's intents so far.
    private var intents: [(id: EventID, tags: [TapedeckModel.Tag])] = []

    /// - Parameter start: The initial time of the clock, in Unix milliseconds.
    init(
        _ name: String, start: UInt64 = ManualClock.defaultMilliseconds,
        _ random: SeededGenerator = .fromEnvironment()
    ) throws {
        place = try TemporaryStore(name, clock: ManualClock(milliseconds: start))
        store = try place.open()
        self.random = random
    }

    /// Opens a store that another process has open, and gives it a separate clock.
    ///
    /// - Parameter now: The time on that clock, in Unix milliseconds.
    init(opening directory: String, at now: UInt64) throws {
        place = try TemporaryStore("unused", clock: ManualClock(milliseconds: now))
        store = try TapedeckStore.open(directory, creating: false, options: place.options)
        random = .fromEnvironment()
    }

    mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    private var at: UInt64 { place.clock.milliseconds }

    /// Records one random event.
    mutating func anything() throws {
        switch number(4) {
        case 0: try group()
        case 1: try talk()
        case 2: try schedule()
        default: try device()
        }
    }

    // MARK: - Recording

    /// Records an observation that was made some seconds ago.
    private mutating func observe(_ observation: some Observation) throws {
        let late = UInt64(number(50)) * 1_000
        try record(ProposedEvent(observation: observation, observedAt: Int64(at - late)))
    }

    private mutating func want(_ event: some Event) throws {
        let proposal = try ProposedEvent(event)
        intents.append((try store.log.appendBlocking([proposal]).firstID, proposal.tags))
    }

    private func record(_ proposal: ProposedEvent) throws {
        try store.log.appendBlocking([proposal])
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

    // MARK: - Random events

    /// Records a random share, list entry, submission, like, mark, playback or check.
    private mutating func group() throws {
        let video = "youtube:v\(number(7))"
        let past = Int64(at) - Int64(number(300)) * 3_600_000
        func happened(_ event: some Event) throws {
            try record(ProposedEvent(event, atMilliseconds: UInt64(past)))
        }
        func observed(_ observation: some Observation) throws {
            try record(ProposedEvent(observation: observation, observedAt: past))
        }
        switch number(11) {
        case 0, 1:
            try observed(
                BroadcastReceived.with {
                    ($0.broadcast, $0.video) = ("b\(number(9))", video)
                    $0.title = "t\(number(9))"
                    $0.createdAt = .init(milliseconds: past)
                    if number(2) == 0 { $0.liked = number(2) == 0 }
                    if number(2) == 0 { $0.watchLater = number(2) == 0 }
                    if number(2) == 0 { $0.watched = number(2) == 0 }
                })
            try observed(
                VideoDescribed.with {
                    $0.video = video
                    if number(2) == 0 { $0.title = "d\(number(9))" }
                    if number(2) == 0 { $0.durationSeconds = Double(number(9) + 1) }
                })
        case 2:
            try happened(LikeToggled.with { ($0.video, $0.isOn) = (video, number(2) == 0) })
        case 3:
            try happened(
                WatchLaterToggled.with { ($0.video, $0.isOn) = (video, number(3) > 0) })
        case 4:
            try happened(
                PlaybackProgressed.with {
                    ($0.video, $0.viewing) = (video, "w\(number(9))")
                    ($0.positionSeconds, $0.durationSeconds) = (Double(number(100)), 100)
                })
        case 5:
            try happened(
                PlayabilityChecked.with {
                    $0.video = video
                    $0.outcome = ["playable", "unplayable", "failed"][number(3)]
                    if $0.outcome != "playable" { $0.reason = "live" }
                    if $0.outcome == "failed" { $0.retryAfterSeconds = Double(number(900_000)) }
                })
        case 6:
            // A remote's report that a video is unplayable expires within the hour.
            let told = Int64(at) - Int64(number(90)) * 60_000
            try observed(
                FrameObserved.with {
                    ($0.frame, $0.video) = ("f\(number(5))", video)
                    $0.firstUnplayableAt = .init(milliseconds: told)
                    $0.lastUnplayableAt = .init(milliseconds: told)
                })
        case 7:
            try observed(
                VideoListed.with {
                    ($0.list, $0.entry, $0.video) = ("stream", "e\(number(9))", video)
                    $0.listedAt = .init(milliseconds: past)
                    $0.removed = number(4) == 0
                })
        case 8:
            try observed(
                SubmissionObserved.with {
                    ($0.video, $0.views, $0.owner) = (video, UInt64(number(9)), "u\(number(2))")
                    $0.createdAt = .init(milliseconds: past)
                })
        case 9:
            try observed(
                AccountObserved.with {
                    ($0.account, $0.system) = ("u\(number(2))", BirdTube.system)
                    $0.nickname = "n\(number(9))"
                })
        default:
            try happened(
                VideoOpened.with {
                    ($0.video, $0.viewer, $0.viewing) = (video, "me", "o\(number(99))")
                })
        }
    }

    /// Records a random user, question, answer, comment, message, like or follow.
    private mutating func talk() throws {
        let (user, other) = ("\(number(3) + 1)", "\(number(3) + 1)")
        // Users do not follow themselves.
        let follower = user == other ? "4" : user
        let (answer, question) = ("\(number(4))", "\(number(4))")
        let video = "youtube:v\(number(2))"
        let digest = String(repeating: "ab", count: 32)
        let (text, id, isOn) = ("t\(number(9))", number(9), number(3) > 0)
        let isTold = number(2) == 0
        let posted = number(3) == 0 ? intents.randomElement(using: &random)?.id.description : nil
        let time = Int64(at) - Int64(number(5)) * 1_000
        switch number(18) {
        case 0:
            try observe(
                UserObserved.with {
                    ($0.user, $0.username) = (user, "name\(id)")
                    if isTold { $0.isOwn = user == "1" }
                })
        case 1:
            try observe(
                QuestionObserved.with {
                    ($0.question, $0.text, $0.sender, $0.receiver) = (question, text, user, other)
                })
        case 2:
            try observe(
                AnswerObserved.with {
                    ($0.answer, $0.question) = (answer, question)
                    $0.videoURL = "https://media.example.org/\(answer).mp4"
                    if isTold { $0.likeCount = UInt64(id) }
                    $0.removed = !isOn
                })
        case 3, 4:
            try observe(
                CommentObserved.with {
                    ($0.answer, $0.comment, $0.text, $0.author) = (answer, "\(id)", text, user)
                    if isTold { $0.createdAt = .init(milliseconds: time) }
                    if let posted { $0.postedAs = posted }
                })
        case 5: try want(CommentPosted.with { ($0.answer, $0.text) = (answer, text) })
        case 6: try want(CommentPosted.with { ($0.video, $0.text) = (video, text) })
        case 7:
            try observe(
                BroadcastReceived.with {
                    ($0.broadcast, $0.video, $0.comment) = ("b\(id)", video, text)
                    if isTold { $0.message = "m\(id)" }
                    $0.createdAt = .init(milliseconds: time)
                })
        case 8: try want(LikeToggled.with { ($0.answer, $0.isOn) = (answer, isOn) })
        case 9:
            try want(
                FollowToggled.with { ($0.user, $0.follower, $0.isOn) = (other, follower, isOn) })
        case 10:
            try observe(
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
        case 14:
            try observe(
                LikeObserved.with { ($0.like, $0.answer, $0.user) = ("\(id)", answer, user) })
        case 15, 16:
            try observe(
                ChatMessageObserved.with {
                    ($0.message, $0.video, $0.text) = (Int64(id + 1), video, text)
                    $0.at = .init(milliseconds: time)
                    if isTold { $0.isBlocked = !isOn }
                    if let posted { $0.postedAs = posted }
                })
        default: try outcome()
        }
    }

    /// Records a random show, daily list or episode, in several time zones and around the current
    /// time.
    private mutating func schedule() throws {
        let show = number(5) + 1
        let hour: Int64 = 3_600_000
        switch number(6) {
        case 0:
            let zone = ["America/New_York", "America/Los_Angeles", "Pacific/Auckland"][number(3)]
            try observe(
                ShowObserved.with {
                    ($0.show, $0.updated) = (Int64(show), Int64(number(9)))
                    $0.name = "s\(number(9))"
                    let channel = TVmazeChannel.with {
                        ($0.id, $0.name, $0.timezone) = (Int64(show), "c\(show)", zone)
                        if show != 3 { $0.countryCode = "US" }
                    }
                    if show > 2 { $0.webChannel = channel } else { $0.network = channel }
                    if number(2) == 0 { $0.runtimeMinutes = 45 }
                })
        case 1:
            let day = CalendarDay(
                milliseconds: Int64(at) + Int64(number(9) - 4) * 24 * hour, offsetSeconds: 0)
            try observe(
                ScheduleListed.with {
                    ($0.date, $0.web) = (day.description, number(2) == 0)
                    // Only web channels have a list for all countries.
                    if !$0.web || number(2) == 0 { $0.country = "US" }
                    $0.listedAt = .init(milliseconds: Int64(at))
                    $0.episodes = (1..<40).filter { _ in number(3) == 0 }
                })
        default:
            let (days, minutes) = (Int64(number(20) - 9), Int64(number(48)) * 30)
            let near = Int64(number(90) - 60) * 60_000
            let start =
                number(2) == 0
                ? Int64(at) + near : Int64(at) + days * 24 * hour + minutes * 60_000
            try observe(
                EpisodeScheduled.with {
                    ($0.episode, $0.show) = (Int64(number(40) + 1), Int64(show))
                    $0.showUpdated = (start / 1_000) % 9
                    $0.name = "e\(number(9))"
                    if number(9) > 0 { $0.airstamp = .init(milliseconds: start) }
                    $0.airtime = number(5) == 0 ? "" : "20:00"
                    let day = CalendarDay(milliseconds: start - hour * 6, offsetSeconds: 0)
                    if number(2) == 0 { $0.airdate = day.description }
                    if number(2) == 0 { $0.runtimeMinutes = [1, 30, 60, 200, 3_000][number(5)] }
                })
        }
    }

    /// Records a random playback, download, queue edit, extraction, share or contact.
    private mutating func device() throws {
        let (video, device) = ("youtube:v\(number(7))", ["default", "tablet"][number(2)])
        let past = at - UInt64(number(100)) * 60_000
        func happened(_ event: some Event) throws {
            try record(ProposedEvent(event, atMilliseconds: past))
        }
        let names = ["ada@example.org", "Ada@example.org", "bo@example.org"]
        switch number(10) {
        case 0, 1:
            let isIdle = number(4) == 0
            try happened(
                NowPlayingChanged.with {
                    $0.device = device
                    if isIdle { return }
                    ($0.video, $0.positionSeconds) = (video, Double(number(99)))
                    $0.isPlaying = number(2) == 0
                })
        case 2:
            try happened(
                DownloadCompleted.with {
                    ($0.device, $0.video, $0.bytes) = (device, video, UInt64(number(9)))
                    $0.blob = String(repeating: "ab", count: 32)
                })
        case 3: try happened(DownloadRemoved.with { ($0.device, $0.video) = (device, video) })
        case 4:
            try happened(
                VideoWatched.with {
                    ($0.video, $0.isComplete) = (video, number(2) == 0)
                    if number(2) == 0 { $0.endSeconds = Double(number(60)) }
                    if $0.hasEndSeconds { $0.startSeconds = 0 }
                })
        case 5:
            try happened(
                ExtractionFailed.with {
                    ($0.video, $0.reason) = (video, "r\(number(3))")
                    if number(3) > 0 { $0.retryAfterSeconds = Double(number(20_000)) }
                })
        case 6:
            try happened(
                VideoExtracted.with {
                    ($0.video, $0.url) = (video, "https://media.example.org/\(number(9)).mp4")
                    $0.extractedAt = .init(milliseconds: Int64(past))
                    if number(2) == 0 { $0.expiresAt = .init(milliseconds: Int64(at) + 9_000_000) }
                })
        case 7:
            try happened(
                VideoShared.with {
                    ($0.video, $0.destinations, $0.text) = (video, ["email"], "t\(number(9))")
                    $0.to = names[number(3)]
                })
        case 8:
            try happened(
                ContactNoted.with {
                    ($0.address, $0.name) = (names[number(3)], "n\(number(9))")
                    $0.removed = number(3) == 0
                })
            try record(
                ProposedEvent(
                    observation: ListObserved.with {
                        ($0.list, $0.title) = ("roll/\(number(7))", "t\(number(5))")
                        if number(2) == 0 { $0.followed = number(2) == 0 }
                    }, observedAt: Int64(at)))
        default:
            let isGone = number(3) == 0
            if isGone {
                try happened(VideoUnqueued.with { $0.video = video })
            } else {
                try happened(VideoQueued.with { $0.video = video })
            }
        }
    }
}
