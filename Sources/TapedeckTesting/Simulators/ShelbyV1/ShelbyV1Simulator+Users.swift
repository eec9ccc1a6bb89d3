extension ShelbyV1Simulator {
    mutating func join(_ call: Call, joins: Bool) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard let roll = world.rolls[call.id], roll.isPublic || roll.creator == user.id else {
            return Self.notFound
        }
        if joins {
            world.rolls[roll.id]?.followers.insert(user.id)
        } else {
            world.rolls[roll.id]?.followers.remove(user.id)
        }
        core.note(joins ? .joined : .left, roll.id, by: user.id, at: call.now)
        return Self.result(world.roll(roll.id))
    }

    /// Records a report that a video is unplayable: keeps the time of the first report and updates
    /// the time of the last report.
    mutating func unplayable(_ call: Call) -> SimulatedResponse {
        guard var video = world.videos[call.id] else { return Self.notFound }
        video.firstUnplayableAt = video.firstUnplayableAt ?? call.now
        video.lastUnplayableAt = call.now
        world.videos[call.id] = video
        core.note(.unplayable, call.id, by: call.user?.id ?? "", at: call.now)
        return Self.result(world.video(call.id))
    }

    mutating func notificationToken(_ call: Call, comes: Bool) -> SimulatedResponse {
        guard let user = call.user, user.id == call.id else { return Self.unauthorized }
        core.note(
            .notificationToken, user.id, by: user.id, call.parameters["token"] ?? "",
            detail: comes ? "comes" : "goes", at: call.now)
        return Self.result(world.user(user.id))
    }

    /// Counts a visit on every call, for the platform `web` unless the call names another one.
    mutating func visit(_ call: Call) -> SimulatedResponse {
        guard let user = call.user else { return Self.unauthorized }
        guard user.id == call.id else {
            return Self.failure(404, "could not update the current users session")
        }
        let platform = call.parameters["platform"] ?? "web"
        guard ["ios", "web"].contains(platform) else {
            return Self.failure(404, "invalid platform.  only ios and web supported.")
        }
        world.users[user.id]?.visits[platform, default: 0] += 1
        core.note(.visit, user.id, by: user.id, platform, at: call.now)
        return Self.result([:])
    }
}
