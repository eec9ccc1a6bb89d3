extension ShelbyV2World {
    /// The number of broadcasts in the account's channel in a generated world.
    public static let madeBroadcasts = 40

    /// Generates a world as of `now`.
    ///
    /// The world has three users, the first of whom is `SimulatorAccount`. Each user has a public
    /// and a private channel. The first user's private channel has broadcasts from the last few
    /// days.
    ///
    /// About one broadcast in three shares a video that has already been shared, and about one in
    /// eight is from a provider that apps do not request. Older rows lack `owner_watch_later`.
    public init(seed: UInt64, at now: Int64) {
        var random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0x5E1B))
        let joined = now - 90 * SimulatedTime.dayMilliseconds
        self.init(users: [], channels: [], broadcasts: [], tokens: [:])
        for number in 0..<3 {
            let user = User(
                id: MongoID.make(at: joined, number: number + 1),
                nickname: SimulatedTexts.person(number),
                services: number == 0 ? ["twitter", "facebook"] : ["twitter"])
            users.append(user)
            for (index, name) in ["Broadcasts of \(user.nickname)", "Watch Later"].enumerated() {
                channels.append(
                    Channel(
                        id: MongoID.make(at: joined, number: 16 + 2 * number + index), name: name,
                        owner: user.id, isPublic: index == 0, createdAt: joined))
            }
        }
        tokens = [SimulatorAccount.oauthToken: users[0].id]
        secrets = [SimulatorAccount.oauthToken: SimulatorAccount.oauthSecret]
        var time = now - 4 * SimulatedTime.dayMilliseconds
        let step = UInt64(8 * SimulatedTime.dayMilliseconds / Int64(2 * Self.madeBroadcasts))
        for number in 0..<Self.madeBroadcasts {
            var made = makeBroadcast(
                channel: channels[1].id, at: time, number: 256 + number, &random)
            made.isWatchLater = number < 10 ? nil : random.oneIn(5)
            broadcasts.append(made)
            time = min(now, time + 1 + Int64(random.below(step)))
        }
    }

    /// Returns a random broadcast; about one in three shares an existing video.
    func makeBroadcast(
        channel: String, at time: Int64, number: Int, _ random: inout SeededGenerator
    ) -> Broadcast {
        var made = Broadcast(
            id: MongoID.make(at: time, number: number), channel: channel, createdAt: time,
            providerID: SimulatedTexts.youtubeID(&random),
            title: SimulatedTexts.title(&random), comment: SimulatedTexts.comment(&random),
            sharer: SimulatedTexts.person(1 + random.below(12)),
            origin: random.pick(["twitter", "twitter", "facebook", "tumblr"]), isWatchLater: false,
            totalPlays: Int64(random.below(50)))
        let kind = random.below(24)
        let known = random.below(max(1, broadcasts.count))
        let code = 10_000_000 + random.below(60_000_000)
        if kind < 8, known < broadcasts.count {
            made.provider = broadcasts[known].provider
            made.providerID = broadcasts[known].providerID
            made.title = broadcasts[known].title
        } else if kind < 13 {
            made.provider = "vimeo"
            made.providerID = String(code)
        } else if kind < 16 {
            made.provider = "dailymotion"
            made.providerID = "x\(code)"
        }
        if random.oneIn(9) { made.comment = nil }
        return made
    }
}
