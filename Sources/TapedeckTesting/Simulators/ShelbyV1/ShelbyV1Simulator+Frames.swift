extension ShelbyV1Simulator {
    /// Counts a like, creates the copy, and returns the liked frame.
    ///
    /// A like without a login is counted, but creates no copy.
    mutating func like(_ call: Call) -> SimulatedResponse {
        guard world.frames[call.id] != nil else { return Self.notFound }
        let copy = world.like(call.id, by: call.user, at: call.now)
        core.note(.like, call.id, by: call.user?.id ?? "", detail: copy?.id ?? "", at: call.now)
        return Self.result(world.frame(call.id, call.now))
    }

    /// Removes one of the caller's frames from its roll; removing the copy of a like removes the
    /// like.
    mutating func removeFrame(_ call: Call) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard let frame = world.frames[call.id], frame.creator == user.id, frame.roll != nil else {
            return Self.notFound
        }
        world.remove(frame.id)
        if frame.type == 1, let original = frame.original {
            core.note(.unlike, original, by: user.id, detail: frame.id, at: call.now)
        } else {
            core.note(.frameDeleted, frame.id, by: user.id, at: call.now)
        }
        return Self.result(world.frame(frame.id, call.now))
    }

    /// Counts a view, a completed view, or both.
    ///
    /// A call with a start and an end time counts as a view, but for each user and frame only once
    /// in 24 hours. A signed-in user's call with `complete` counts as a completed view every time.
    /// A call that counts nothing also succeeds.
    mutating func watched(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        let fields = call.parameters
        let times = ["start_time", "end_time"].compactMap { fields[$0] }
        guard times.allSatisfy({ Double($0) != nil }) else {
            throw OutsideTables("start_time and end_time must be numbers")
        }
        guard fields["complete"] == nil || fields["complete"] == "1" else {
            throw OutsideTables("complete must be 1")
        }
        guard var frame = world.frames[call.id] else { return Self.notFound }
        let last = call.user.flatMap { frame.viewedAt[$0.id] }
        var counted: [String] = []
        if times.count == 2, last.map({ call.now - $0 >= SimulatedTime.dayMilliseconds }) ?? true {
            if let user = call.user { frame.viewedAt[user.id] = call.now }
            frame.viewCount += 1
            world.videos[frame.video ?? ""]?.viewCount += 1
            counted.append("view")
        }
        if call.user != nil, fields["complete"] != nil {
            world.videos[frame.video ?? ""]?.completeCount += 1
            counted.append("complete")
        }
        world.frames[frame.id] = frame
        core.note(
            .watched, frame.id, by: call.user?.id ?? "", times.joined(separator: "-"),
            detail: counted.joined(separator: ","), at: call.now)
        return Self.result(world.frame(call.id, call.now))
    }

    /// Adds a frame, or the video at a URL, to a roll.
    mutating func putOnRoll(_ call: Call) throws(OutsideTables) -> SimulatedResponse {
        let fields = call.parameters
        guard (fields["frame_id"] == nil) != (fields["url"] == nil) else {
            throw OutsideTables("exactly one of frame_id and url is required")
        }
        guard let user = call.user else { return Self.unauthorized }
        guard let roll = world.rolls[call.id] else { return Self.notFound }
        let mayAdd =
            roll.creator == user.id
            || (roll.isCollaborative && roll.followers.contains(user.id))
        guard mayAdd else { return Self.failure(403, "that is somebody else's roll") }
        let text = fields["text"]
        let frame: ShelbyV1World.Frame
        if let id = fields["frame_id"] {
            guard let original = world.frames[id] else { return Self.notFound }
            frame = world.insertCopy(
                of: original, by: user.id, roll: roll.id, type: 0, at: call.now)
            if let text, let conversation = frame.conversation {
                let message = ShelbyV1World.Message(
                    id: world.makeID(at: call.now), user: user.id, text: text)
                world.conversations[conversation]?.messages.append(message)
            }
        } else {
            guard let (provider, id) = Self.video(ofURL: fields["url"] ?? "") else {
                return Self.failure(404, "no video was found at that URL")
            }
            let video = world.insertVideo(provider: provider, id, title: id, at: call.now)
            frame = world.insertFrame(
                video: video, by: user.id, roll: roll.id, text: text, at: call.now)
        }
        core.note(.roll, roll.id, by: user.id, text ?? "", detail: frame.id, at: call.now)
        return Self.result(world.frame(frame.id, call.now))
    }

    /// Returns the provider and the id of the video at a URL; nil if the system does not know the
    /// URL's format.
    private static func video(ofURL url: String) -> (provider: String, id: String)? {
        for (mark, provider) in [
            ("youtube.com/watch?v=", "youtube"), ("youtu.be/", "youtube"), ("vimeo.com/", "vimeo"),
        ] {
            guard let range = url.firstRange(of: mark) else { continue }
            let id = url[range.upperBound...].prefix { $0 != "&" && $0 != "?" && $0 != "#" }
            return id.isEmpty ? nil : (provider, String(id))
        }
        return nil
    }

    /// Shares a frame with linked services, or by email with the comma-separated `addresses`.
    mutating func share(_ call: Call) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        let destinations = call.parameters.all("destination[]")
        let addresses = (call.parameters["addresses"] ?? "").split(separator: ",").map(String.init)
        if destinations.contains("email"), addresses.isEmpty {
            return Self.failure(404, "you must provide addresses")
        }
        guard world.frames[call.id] != nil else { return Self.notFound }
        let isValid = destinations.allSatisfy {
            ["twitter", "facebook"].contains($0) && user.services[$0] != nil || $0 == "email"
        }
        guard isValid else { return Self.failure(404, "invalid destinations \(destinations)") }
        if destinations.contains("email") {
            world.users[user.id]?.addresses += addresses.filter { !user.addresses.contains($0) }
        }
        core.note(
            .share, call.id, by: user.id, call.parameters["text"] ?? "",
            detail: (destinations + addresses).joined(separator: ","), at: call.now)
        return Self.result(world.frame(call.id, call.now))
    }

    func shortLink(_ call: Call) -> SimulatedResponse {
        guard world.frames[call.id] != nil else { return Self.notFound }
        return Self.result(["short_link": .text("http://shl.example.org/\(call.id.suffix(6))")])
    }
}
