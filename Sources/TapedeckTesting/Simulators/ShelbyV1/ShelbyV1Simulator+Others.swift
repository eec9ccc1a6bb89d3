extension ShelbyV1Simulator {
    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) { happen(at: time) }
    }

    /// A random user without a token shares, likes, comments on or removes something.
    private mutating func happen(at now: Int64) {
        let removes = core.fate.chance(core.adversary.deletionRate)
        let deed: Int = core.fate.below(10)
        let accounts = Set(world.tokens.values)
        let others = world.users.values.filter { !accounts.contains($0.id) }
            .sorted { $0.id < $1.id }
        guard !others.isEmpty else { return }
        let user = core.fate.pick(others)
        if removes { return remove(deed) }
        let frames = world.frames.values.filter { $0.roll != nil && $0.type == 0 }
            .map(\.id).sorted()
        switch deed {
        case 6...7:
            guard !frames.isEmpty else { return }
            _ = world.like(core.fate.pick(frames), by: user, at: now)
        case 8...9:
            let ids = world.conversations.keys.sorted()
            guard !ids.isEmpty else { return }
            let conversation = core.fate.pick(ids)
            let message = ShelbyV1World.Message(
                id: world.makeID(at: now), user: user.id,
                text: SimulatedTexts.comment(&core.fate))
            world.conversations[conversation]?.messages.append(message)
        default:
            // Ids begin with the time and are unique, so rows are never tied, and a late row has an
            // older id.
            let date = core.date(at: now, newest: nil)
            let frame = world.share(by: user, at: date, &core.fate)
            for follower in world.rolls[user.publicRoll]?.followers.sorted() ?? []
            where follower != user.id {
                let entry = ShelbyV1World.Entry(
                    id: world.makeID(at: date), user: follower, frame: frame.id)
                world.entries[entry.id] = entry
            }
        }
    }

    private mutating func remove(_ deed: Int) {
        let entries = world.entries.keys.sorted()
        let accounts = Set(world.tokens.values)
        let frames = world.frames.values.filter {
            $0.roll != nil && $0.creator.map { !accounts.contains($0) } == true
        }.map(\.id).sorted()
        if deed < 5, !entries.isEmpty {
            world.entries[core.fate.pick(entries)] = nil
        } else if !frames.isEmpty {
            world.remove(core.fate.pick(frames))
        }
    }
}
