/// Inserts and removes rows.
extension ShelbyV1World {
    @discardableResult
    mutating func insertUser(
        _ nickname: String, email: String, password: String, services: [String: String] = [:],
        at now: Int64
    ) -> User {
        let id = makeID(at: now)
        let roll = Roll(
            id: makeID(at: now), title: "\(nickname)'s roll", creator: id, followers: [id])
        rolls[roll.id] = roll
        let user = User(
            id: id, nickname: nickname, email: email, password: password, publicRoll: roll.id,
            services: services)
        users[id] = user
        return user
    }

    /// Returns the id of a video; inserts the video if it does not exist.
    mutating func insertVideo(
        provider: String, _ providerID: String, title: String, at now: Int64
    ) -> String {
        let known = videos.values.first { $0.provider == provider && $0.providerID == providerID }
        if let known { return known.id }
        let video = Video(
            id: makeID(at: now), provider: provider, providerID: providerID, title: title)
        videos[video.id] = video
        return video.id
    }

    /// Inserts a frame with a new conversation.
    mutating func insertFrame(
        video: String, by creator: String, roll: String, text: String?, at now: Int64
    ) -> Frame {
        var conversation = Conversation(id: makeID(at: now))
        if let text {
            conversation.messages = [Message(id: makeID(at: now), user: creator, text: text)]
        }
        conversations[conversation.id] = conversation
        let frame = Frame(
            id: makeID(at: now), creator: creator, roll: roll, video: video,
            conversation: conversation.id)
        frames[frame.id] = frame
        return frame
    }

    /// Inserts a copy of a frame into another roll; the copy has the same conversation.
    mutating func insertCopy(
        of frame: Frame, by creator: String, roll: String, type: Int, at now: Int64
    ) -> Frame {
        var copy = Frame(
            id: makeID(at: now), creator: creator, roll: roll, video: frame.video,
            conversation: frame.conversation)
        copy.type = type
        copy.original = frame.id
        frames[copy.id] = copy
        return copy
    }

    /// Counts a like on every call, adds the user to the upvoters once, and copies the frame to the
    /// user's public roll.
    ///
    /// Returns the copy, or nil for an anonymous like.
    mutating func like(_ id: String, by user: User?, at now: Int64) -> Frame? {
        frames[id]?.likeCount += 1
        guard let user, let frame = frames[id] else { return nil }
        if !frame.upvoters.contains(user.id) { frames[id]?.upvoters.append(user.id) }
        return insertCopy(of: frame, by: user.id, roll: user.publicRoll, type: 1, at: now)
    }

    /// Removes a frame from its roll; if a like created the frame, the original frame loses that
    /// like.
    public mutating func remove(_ id: String) {
        guard let frame = frames[id] else { return }
        frames[id]?.deletedFromRoll = frame.roll
        frames[id]?.roll = nil
        guard frame.type == 1, let original = frame.original else { return }
        frames[original]?.upvoters.removeAll { $0 == frame.creator }
        frames[original]?.likeCount -= 1
    }
}
