import Tapedeck

/// Generates activity of every type in `EventCatalogue`.
///
/// About half of the activity comes from `ActivityGenerator`, with its popular videos, bursts,
/// three devices and 10 % late events. The rest of the activity follows from the events of
/// `ActivityGenerator`. A broadcast appears in a list, and its video is checked for playability. A
/// player reports the video that it plays, and fills its queue. A comment is followed by comments
/// of other users and by chat messages. An answer has a question, segments and likes. The events
/// therefore concern the same videos at the same times. Objects with several states, such as the
/// recording of an answer, go through their states in order.
///
/// The number of users, shows, episodes, questions and answers depends on `videos`, not on the
/// number of events. The same seed generates the same activity on every machine. The first events
/// do not depend on how many events are generated.
///
/// ```swift
/// var activity = MixedActivityGenerator(seed: 1, videos: 10_000)
/// let proposals = try (0..<1_000).map { _ in try activity.next().proposal }
/// ```
public struct MixedActivityGenerator: Sendable {
    var random: SeededGenerator
    var answering: Answering
    var talk = Talk()
    var television: Television
    var accounts = Accounts()
    private var pulse: ActivityGenerator
    /// Generated activity that `next()` has not returned yet.
    private var waiting: [MixedActivity] = []

    /// Creates a generator.
    ///
    /// - Parameter videos: The number of videos, at least 1. The numbers of users, shows and
    ///   answers depend on the number of videos.
    public init(seed: UInt64, videos: Int = 10_000) {
        pulse = ActivityGenerator(seed: seed, videos: videos)
        random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x0411))
        answering = Answering(videos: pulse.videos)
        television = Television(videos: pulse.videos)
    }

    /// Returns the next activity.
    ///
    /// Throws an error if an event is invalid, which never happens for the events generated here.
    public mutating func next() throws -> MixedActivity {
        if waiting.isEmpty { try happen() }
        return waiting.removeFirst()
    }

    /// The time of events that are not late, in milliseconds since 1970.
    var now: UInt64 { pulse.now }

    /// Generates one activity and the events that follow from it.
    private mutating func happen() throws {
        var activity = pulse.next()
        switch activity.kind {
        case .broadcastReceived:
            try record(activity)
            try list(activity)
            if random.oneIn(16) { try submit(activity) }
            if random.oneIn(16) { try watchTelevision(activity) }
            if random.oneIn(32) { try useAccounts(activity) }
        case .playbackProgressed:
            try record(activity)
            try play(activity)
        case .commentPosted:
            try record(activity)
            try discuss(activity)
        case .watchLaterToggled:
            try record(activity)
            try keep(activity)
        case .videoExtracted:
            let hasFailed = random.oneIn(4)
            if hasFailed { try failToExtract(activity) }
            // For some videos, all attempts to find a URL fail.
            if !hasFailed || !random.oneIn(4) { try record(activity) }
        case .answerUploaded:
            activity.number = (activity.number - 1) % answering.answers + 1
            try ask(activity)
            try record(activity)
            try answer(activity)
        }
    }

    private mutating func record(_ activity: Activity) throws {
        waiting.append(
            MixedActivity(device: activity.device, proposal: try activity.event()))
    }

    // MARK: - Adding events

    /// Adds an event recorded by the user or a device at the time of an activity.
    mutating func add(_ event: some VideoEvent, beside activity: Activity) throws {
        add(try ProposedEvent(event), activity)
    }

    /// Adds an observation of a remote's object at the time of an activity.
    mutating func observe(_ observation: some Observation, beside activity: Activity) throws {
        add(
            try ProposedEvent(
                observation: observation, observedAt: Int64(activity.atMilliseconds)),
            activity)
    }

    private mutating func add(_ proposal: ProposedEvent, _ activity: Activity) {
        var proposal = proposal
        proposal.atMilliseconds = activity.atMilliseconds + UInt64(waiting.count)
        waiting.append(MixedActivity(device: activity.device, proposal: proposal))
    }

    /// Returns a simulated SHA-256 digest.
    func digest(_ number: UInt64) -> String {
        (0..<UInt64(4)).map { part in
            let word = String(SeededGenerator.mixed(number &* 4 &+ part), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }

    /// Returns one of the words.
    mutating func pick(_ words: [StaticString]) -> String {
        words[random.below(words.count)].description
    }
}
