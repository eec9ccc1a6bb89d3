extension BirdTubeWorld {
    /// Generates a world as of `now`.
    ///
    /// The world has six users, the first of whom is `SimulatorAccount`, and 64 videos, some of
    /// which were submitted within the same second or have the same number of views. Every fourth
    /// video has messages in its chat. The chat of the first video has 180 messages, 71 of them in
    /// the same millisecond.
    public init(seed: UInt64, at now: Int64) {
        var random = SeededGenerator(seed: SeededGenerator.mixed(seed ^ 0xB12D))
        self.init()
        let start = now - 30 * SimulatedTime.dayMilliseconds
        for number in 0..<6 {
            let name = SimulatedTexts.person(number)
            insertUser(
                email: number == 0 ? SimulatorAccount.user : "user\(number + 1)@example.org",
                nickname: name,
                password: number == 0 ? SimulatorAccount.password : "password \(number + 1)",
                at: start)
        }
        var time = start
        for number in 0..<64 {
            let step = 28 * SimulatedTime.dayMilliseconds / 64
            if !number.isMultiple(of: 9) { time += 1 + Int64(random.below(UInt64(2 * step))) }
            time = min(time, now - SimulatedTime.dayMilliseconds)
            handIn(by: random.pick(users).id, at: time, &random)
            videos[number].viewer = random.below(40)
            if number == 0 {
                talk(180, crowd: 70, in: videos[number].channel, at: time, &random)
            } else if number.isMultiple(of: 4) {
                talk(1 + random.below(12), in: videos[number].channel, at: time, &random)
            }
        }
    }

    /// Adds `count` messages to a chat; `crowd` of them have the same time as the first message.
    private mutating func talk(
        _ count: Int, crowd: Int = 0, in channel: String, at start: Int64,
        _ random: inout SeededGenerator
    ) {
        var time = start
        for number in 0..<count {
            if number == 0 || number > crowd { time += 1 + Int64(random.below(60_000 as UInt64)) }
            remark(in: channel, by: random.pick(users), at: time, &random)
        }
    }

    /// Adds a random message with either text or a file, sometimes from a guest.
    mutating func remark(
        in channel: String, by user: User, at time: Int64, _ random: inout SeededGenerator
    ) {
        let isGuest = random.oneIn(6)
        let isFile = random.oneIn(8)
        let file = File(
            url: "http://files.example.org/\(messages.count + 1).png", name: "picture.png",
            type: "image/png", size: 1_000 + Int64(random.below(100_000 as UInt64)))
        insertMessage(
            in: channel, at: time, kind: isFile ? "file" : "text",
            text: isFile ? "" : SimulatedTexts.comment(&random), file: isFile ? file : nil,
            sender: isGuest ? "guest-\(user.id)" : user.sendbirdID,
            senderName: isGuest ? "Guest" : user.nickname, isGuest: isGuest)
    }

    // MARK: - Rows

    @discardableResult
    mutating func insertUser(
        email: String, nickname: String, password: String, at now: Int64
    ) -> User {
        let id = (users.map(\.id).max() ?? 5_066_549_580_791_807) + 1
        let user = User(
            id: id, email: email, nickname: nickname, password: password,
            session: hex("session", id), sendbirdID: hex("sendbird", id), createdAt: now)
        users.append(user)
        return user
    }

    /// Submits a generated video.
    mutating func handIn(by owner: Int64, at time: Int64, _ random: inout SeededGenerator) {
        let id = SimulatedTexts.youtubeID(&random)
        insertVideo(
            id: id, url: "https://www.youtube.com/watch?v=\(id)",
            title: SimulatedTexts.title(&random),
            thumbnail: "https://i.ytimg.example.org/vi/\(id)/hqdefault.jpg", owner: owner, at: time)
    }

    mutating func insertVideo(
        id: String, url: String, title: String, thumbnail: String, owner: Int64, at time: Int64
    ) {
        let channel = hex("channel", Int64(videos.count + 1))
        videos.append(
            Video(
                id: id, url: url, title: title, thumbnail: thumbnail, owner: owner,
                createdAt: time, channel: channel))
    }

    @discardableResult
    mutating func insertMessage(
        in channel: String, at time: Int64, kind: String, text: String, file: File?, sender: String,
        senderName: String, tempID: String = "", isGuest: Bool = false
    ) -> Message {
        let message = Message(
            id: (messages.last?.id ?? 0) + 1, channel: channel, at: time, kind: kind, text: text,
            file: file, sender: sender, senderName: senderName, tempID: tempID, isGuest: isGuest)
        messages.append(message)
        return message
    }

    /// Returns 32 hexadecimal digits, in the style of the server's ids.
    private func hex(_ kind: String, _ number: Int64) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(kind) \(number)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var generator = SeededGenerator(seed: SeededGenerator.mixed(hash))
        let digits = Array("0123456789abcdef")
        return String((0..<32).map { _ in generator.pick(digits) })
    }
}
