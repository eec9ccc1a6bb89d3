extension ShelbyV2Simulator {
    /// The ids of other users' rows start at this number, so that they differ from generated ids.
    private static let othersNumber = 0x10000

    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) { happen(at: time) }
    }

    /// Shares a video to a user's own channel, or plays or removes one of the channel's broadcasts.
    private mutating func happen(at now: Int64) {
        let removes = core.fate.chance(core.adversary.deletionRate)
        let deed = core.fate.below(10)
        let channels = world.channels.filter { !$0.isPublic }
        guard !channels.isEmpty else { return }
        // The first channel, which clients read, gets most of the changes.
        let channel = core.fate.oneIn(3) ? core.fate.pick(channels) : channels[0]
        let rows = world.broadcasts.indices.filter { world.broadcasts[$0].channel == channel.id }
        if removes, !rows.isEmpty {
            world.broadcasts.remove(at: core.fate.pick(rows))
        } else if deed < 2, !rows.isEmpty {
            let row = core.fate.pick(rows)
            world.broadcasts[row].totalPlays += 1
            world.broadcasts[row].updatedAt = now
        } else {
            let newest = rows.map { world.broadcasts[$0].createdAt }.max()
            let date = core.date(at: now, newest: newest)
            made += 1
            world.broadcasts.append(
                world.makeBroadcast(
                    channel: channel.id, at: date, number: Self.othersNumber + made, &core.fate))
        }
    }
}
