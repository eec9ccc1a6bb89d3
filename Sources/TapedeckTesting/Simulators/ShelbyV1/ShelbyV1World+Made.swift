extension ShelbyV1World {
    /// The default number of entries on the account's dashboard in a generated world.
    public static let madeEntries = 60

    /// Generates a world as of `now`.
    ///
    /// The world has four users, the first of whom is `SimulatorAccount`. The first user's
    /// dashboard has `count` entries, for frames that the other users have shared on their rolls.
    ///
    /// As in the real system, some joined objects are missing: some notices have no frame, and some
    /// frames have no creator, roll, video or conversation.
    public init(seed: UInt64, at now: Int64, entries count: Int = madeEntries) {
        var random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x61))
        self.init()
        let joined = now - 90 * SimulatedTime.dayMilliseconds
        var made: [User] = []
        for number in 0..<4 {
            let name = SimulatedTexts.person(number)
            made.append(
                insertUser(
                    name, email: number == 0 ? SimulatorAccount.user : "user\(number)@example.org",
                    password: number == 0 ? SimulatorAccount.password : "password \(number)",
                    services: ["twitter": "10\(number)", "facebook": "20\(number)"], at: joined))
        }
        let account = made[0]
        tokens = [SimulatorAccount.authToken: account.id]
        for user in made.dropFirst() { rolls[user.publicRoll]?.followers.insert(account.id) }
        featured = made.dropFirst().prefix(2).map(\.publicRoll)
        var time = now - 12 * SimulatedTime.dayMilliseconds
        let step = UInt64(24 * SimulatedTime.dayMilliseconds / Int64(max(1, count)))
        for number in 0..<count {
            time = min(now, time + 1 + Int64(random.below(step)))
            let frame = share(by: made[1 + random.below(3)], at: time, &random)
            var entry = Entry(id: makeID(at: time), user: account.id, frame: frame.id)
            leaveOut(number % 12, &entry, frame, actor: made[1].id)
            entries[entry.id] = entry
            if random.oneIn(3) { _ = like(frame.id, by: made[1 + random.below(3)], at: time) }
        }
    }

    /// Changes an entry to one of twelve kinds; some kinds lack a joined object.
    private mutating func leaveOut(
        _ kind: Int, _ entry: inout Entry, _ frame: Frame, actor: String
    ) {
        switch kind {
        case 1: frames[frame.id]?.creator = nil
        case 3: frames[frame.id]?.roll = nil
        case 5:
            (entry.action, entry.actor, entry.frame) = (14, actor, nil)
        case 6: frames[frame.id]?.conversation = nil
        case 7: (entry.action, entry.actor) = (11, actor)
        case 8: (entry.action, entry.sourceFrame) = (31, frames.keys.min())
        case 9: entry.action = 32
        case 10: frames[frame.id]?.video = nil
        default: break
        }
    }

    /// Shares a video on the user's own roll.
    mutating func share(
        by user: User, at time: Int64, _ random: inout SeededGenerator
    ) -> Frame {
        let providerID = SimulatedTexts.youtubeID(&random)
        let title = SimulatedTexts.title(&random)
        let text = SimulatedTexts.comment(&random)
        let known = random.below(4 * max(1, videos.count))
        let ids = videos.keys.sorted()
        let video =
            known < ids.count
            ? ids[known]
            : insertVideo(provider: "youtube", providerID, title: title, at: time)
        return insertFrame(video: video, by: user.id, roll: user.publicRoll, text: text, at: time)
    }
}
