extension ShelbyV2Simulator {
    /// Returns the complete list of a channel's broadcasts; `video_player` selects the broadcasts
    /// for the given players.
    mutating func broadcasts(
        of channel: String, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(request, in: .query, allowed: ["video_player"])
        guard let user = user(of: request, now) else { return unauthorized }
        guard let channel = world.channels.first(where: { $0.id == channel }),
            channel.isPublic || channel.owner == user.id
        else { return failure("Channel not found") }
        let players = parameters["video_player"].map {
            Set($0.split(separator: ",").map(String.init))
        }
        let rows = world.broadcasts.filter {
            $0.channel == channel.id && players?.contains($0.provider) != false
        }
        let owner = world.user(channel.owner)
        let sorted = core.newestFirst(rows, date: { $0.createdAt / 1_000 }, id: \.id)
        return .json(200, .array(sorted.map { $0.document(owner) }))
    }

    /// Sets one flag of a broadcast.
    mutating func update(
        _ id: String, _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let flags = ["watched_by_owner", "liked_by_owner", "owner_watch_later"]
        let parameters = try SimulatedParameters(request, in: .form, allowed: flags)
        guard let field = parameters.fields.first, parameters.fields.count == 1 else {
            throw OutsideTables("exactly one flag is required")
        }
        let values = field.name == "watched_by_owner" ? ["true"] : ["true", "false"]
        guard values.contains(field.value) else {
            throw OutsideTables("\(field.name) cannot be \(field.value)")
        }
        guard let user = user(of: request, now) else { return unauthorized }
        guard let index = world.broadcasts.firstIndex(where: { $0.id == id }),
            world.channels.contains(where: {
                $0.id == world.broadcasts[index].channel && $0.owner == user.id
            })
        else { return failure("Broadcast not found") }
        let isOn = field.value == "true"
        switch field.name {
        case "liked_by_owner": world.broadcasts[index].isLiked = isOn
        case "owner_watch_later": world.broadcasts[index].isWatchLater = isOn
        default: world.broadcasts[index].isWatched = isOn
        }
        world.broadcasts[index].updatedAt = now
        core.note(.flag, id, by: user.id, "\(field.name)=\(field.value)", at: now)
        return .json(200, world.broadcasts[index].document(user).adding(["err": nil]))
    }

    /// Shares a broadcast with one or more destinations.
    mutating func share(
        _ request: SimulatedRequest, _ now: Int64
    ) throws(OutsideTables) -> SimulatedResponse {
        let parameters = try SimulatedParameters(
            request, in: .form, allowed: ["to"],
            required: ["destination", "broadcast_id", "comment"])
        let destinations = (parameters["destination"] ?? "").split(separator: ",").map(String.init)
        for destination in destinations
        where !["twitter", "facebook", "tumblr", "email"].contains(destination) {
            throw OutsideTables("unknown destination \(destination)")
        }
        guard !destinations.isEmpty else { throw OutsideTables("destination is empty") }
        guard let user = user(of: request, now) else { return unauthorized }
        let id = parameters["broadcast_id"] ?? ""
        guard world.broadcasts.contains(where: { $0.id == id }) else {
            return failure("Broadcast not found")
        }
        let recipients = parameters["to"].map { " to \($0)" } ?? ""
        core.note(
            .share, id, by: user.id, parameters["comment"] ?? "",
            detail: destinations.joined(separator: ",") + recipients, at: now)
        return .json(
            200, ["broadcast_id": .text(id), "user_id": .text(user.id), "err": nil])
    }
}
