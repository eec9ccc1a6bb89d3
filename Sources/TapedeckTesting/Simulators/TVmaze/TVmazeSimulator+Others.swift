internal import Tapedeck

extension TVmazeSimulator {
    mutating func pass(until now: Int64) {
        for time in core.deeds(until: now) { happen(at: time) }
    }

    /// Moves, renames, describes, removes or adds an upcoming episode, or adds a member to a cast.
    ///
    /// Every change updates the version of the show.
    private mutating func happen(at now: Int64) {
        let removes = core.fate.chance(core.adversary.deletionRate)
        let deed: Int = core.fate.below(8)
        let ahead = world.episodes.keys.sorted().filter {
            world.episodes[$0].map { $0.startsAt > now } ?? false
        }
        guard !ahead.isEmpty else { return }
        let id = core.fate.pick(ahead)
        guard var episode = world.episodes[id], let show = world.shows[episode.show] else { return }
        world.shows[show.id]?.updated = now / 1_000
        if removes {
            world.episodes[id] = nil
            return
        }
        switch deed {
        case 0...2: move(&episode, of: show)
        case 3: episode.name = SimulatedTexts.title(&core.fate)
        case 4: episode.summary = "<p>\(SimulatedTexts.comment(&core.fate)).</p>"
        case 5: return join(show)
        default: return add(to: show, behind: episode)
        }
        world.episodes[id] = episode
    }

    private mutating func move(_ episode: inout TVmazeWorld.Episode, of show: TVmazeWorld.Show) {
        let step = Int64(15 * (1 + core.fate.below(8))) * SimulatedTime.minuteMilliseconds
        episode.startsAt += step
        var zones = ZoneCache()
        let day = TVmazeWorld.day(of: episode.startsAt, show.channel, &zones)
        let minutes =
            (episode.startsAt - zones.start(of: day, show.channel.country?.timezone))
            / SimulatedTime.minuteMilliseconds
        let (hour, minute) = (Int(minutes / 60) % 24, Int(minutes % 60))
        episode.airtime = "\(hour.padded(2)):\(minute.padded(2))"
        episode.airdate = (hour < 5 ? day.adding(-1) : day).description
    }

    private mutating func join(_ show: TVmazeWorld.Show) {
        let number: Int = 1 + core.fate.below(ActivityTexts.people.count)
        let cast = world.casts[show.id] ?? []
        world.casts[show.id] =
            cast + [
                TVmazeWorld.Role(
                    person: number, personName: SimulatedTexts.person(number - 1).capitalized,
                    character: show.id * 100 + cast.count,
                    characterName: SimulatedTexts.title(&core.fate))
            ]
    }

    private mutating func add(to show: TVmazeWorld.Show, behind episode: TVmazeWorld.Episode) {
        guard let day = CalendarDay(episode.airdate) else { return }
        var zones = ZoneCache()
        world.insert(
            of: show, SimulatedTexts.title(&core.fate), season: episode.season, number: nil,
            on: day.adding(1), summary: nil, &zones)
    }
}
