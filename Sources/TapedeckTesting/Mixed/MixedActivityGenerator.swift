import Tapedeck

/// Makes up activity of every type that `EventCatalogue` knows.
///
/// About half of it is what `ActivityGenerator` makes, with its hot videos, its bursts, its three devices
/// and its late tenth. The rest is what these things bring along: a broadcast stands on lists and is
/// checked, a player reports what it plays and fills its queue, a comment is seen and answered in the
/// chat, an answer has a question, segments and likes. So it concerns the same videos at the same times;
/// what has states, such as the recording of an answer, goes through them in order.
///
/// There are as many users, shows, episodes, questions and answers as `videos` allows, however many events
/// are made. The same seed gives the same activity on every machine; fewer events are a prefix of more.
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
    /// What has happened and was not given out yet.
    private var waiting: [MixedActivity] = []

    /// Makes a generator.
    ///
    /// - Parameter videos: how many videos there are, at least 1; the rest goes by it.
    public init(seed: UInt64, videos: Int = 10_000) {
        pulse = ActivityGenerator(seed: seed, videos: videos)
        random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x0411))
        answering = Answering(videos: pulse.videos)
        television = Television(videos: pulse.videos)
    }

    /// The next thing that happens.
    ///
    /// Throws what the events' own checks throw; for what is made here, nothing.
    public mutating func next() throws -> MixedActivity {
        if waiting.isEmpty { try happen() }
        return waiting.removeFirst()
    }

    /// The time of what is not late, in Unix milliseconds.
    var now: UInt64 { pulse.now }

    /// One activity, and what it brings along.
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
            // Some addresses are not found for all the tries.
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

    // MARK: - What the parts add

    /// Something that the user or a device does besides an activity.
    mutating func add(_ event: some VideoEvent, beside activity: Activity) throws {
        add(try ProposedEvent(event), activity)
    }

    /// What a remote shows beside an activity.
    mutating func sight(_ sighting: some Observation, beside activity: Activity) throws {
        add(
            try ProposedEvent(
                sighting: sighting, observedAt: Int64(activity.atMilliseconds)),
            activity)
    }

    private mutating func add(_ proposal: ProposedEvent, _ activity: Activity) {
        var proposal = proposal
        proposal.atMilliseconds = activity.atMilliseconds + UInt64(waiting.count)
        waiting.append(MixedActivity(device: activity.device, proposal: proposal))
    }

    /// A made-up SHA-256.
    func digest(_ number: UInt64) -> String {
        (0..<UInt64(4)).map { part in
            let word = String(SeededGenerator.mixed(number &* 4 &+ part), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }

    /// One of the words.
    mutating func pick(_ words: [StaticString]) -> String {
        words[random.below(words.count)].description
    }
}
