import Tapedeck

/// Shows, their episodes and casts, and daily schedules.
extension MixedActivityGenerator {
    /// The number of episodes per show.
    private static let episodesMax: UInt64 = 100
    /// The number of days in advance for which episodes are scheduled.
    private static let daysAhead = 6

    /// The state of the television schedule.
    struct Television {
        let shows: UInt64
        /// The episodes of the coming days, by day.
        var days: [CalendarDay: Set<Int64>] = [:]

        init(videos: UInt64) { shows = max(4, videos / 50) }
    }

    /// Records a scheduled episode, and sometimes its show, its cast or the whole day's schedule.
    mutating func watchTelevision(_ activity: Activity) throws {
        let show = random.rank(of: television.shows) + 1
        let version = Int64(activity.atMilliseconds / 1_000)
        let isOnWeb = show % 8 == 0
        let today = CalendarDay(milliseconds: Int64(now), offsetSeconds: 0)
        let day = today.adding(random.below(Self.daysAhead + 1))
        if random.oneIn(3) { try observe(self.show(show, version, isOnWeb), beside: activity) }
        let episode = self.episode(show, version, day, isOnWeb)
        try observe(episode, beside: activity)
        if random.oneIn(8) { try observe(cast(show, version), beside: activity) }

        // Web channels have separate schedules, which are not generated here.
        guard !isOnWeb else { return }
        television.days = television.days.filter { $0.key >= today }
        television.days[day, default: []].insert(episode.episode)
        guard random.oneIn(4) else { return }
        let listed = ScheduleListed.with {
            ($0.date, $0.country) = (day.description, "US")
            $0.listedAt.seconds = version
            $0.episodes = television.days[day, default: []].sorted()
                .suffix(FieldLimits.listCountMax)
        }
        try observe(listed, beside: activity)
    }

    private func show(_ show: UInt64, _ version: Int64, _ isOnWeb: Bool) -> ShowObserved {
        let word = ActivityTexts.nouns[Int(show % 16)]
        let channel = TVmazeChannel.with {
            $0.id = Int64(show % 9 + 1)
            $0.name = "Channel \(show % 9 + 1)"
            ($0.countryName, $0.countryCode) = ("United States", "US")
            $0.timezone = "America/New_York"
        }
        return .with {
            ($0.show, $0.updated) = (Int64(show), version)
            $0.name = "The \(ActivityTexts.adjectives[Int(show / 16 % 16)]) \(word) \(show)"
            if isOnWeb { $0.webChannel = channel } else { $0.network = channel }
            $0.genres = show % 2 == 0 ? ["Comedy"] : ["Crime", "Drama"]
            $0.summary = "<p>All about the <b>\(word)</b> &amp; more.</p>"
            $0.image.medium = "https://images.example/shows/\(show).jpg"
            ($0.runtimeMinutes, $0.language, $0.status) = (30, "English", "Running")
        }
    }

    private mutating func episode(
        _ show: UInt64, _ version: Int64, _ day: CalendarDay, _ isOnWeb: Bool
    ) -> EpisodeScheduled {
        let number = random.below(Self.episodesMax)
        return .with {
            ($0.episode, $0.show) = (Int64(show * Self.episodesMax + number), Int64(show))
            $0.showUpdated = version
            $0.name = "Episode \(number + 1)"
            ($0.season, $0.number) = (Int32(number / 10 + 1), Int32(number % 10 + 1))
            $0.airdate = day.description
            $0.airtime = isOnWeb ? "" : "20:00"
            // The episode begins at 20:00 in New York in winter; if its time is unknown, TVmaze
            // reports noon.
            $0.airstamp.seconds = day.startMilliseconds / 1_000 + (isOnWeb ? 17 : 25) * 3_600
            $0.runtimeMinutes = 30
        }
    }

    private func cast(_ show: UInt64, _ version: Int64) -> CastObserved {
        .with {
            ($0.show, $0.showUpdated) = (Int64(show), version)
            $0.cast = (0..<UInt64(4)).map { place in
                .with {
                    let person = SeededGenerator.mixed(show &* 4 &+ place)
                    $0.personID = Int64(person % 10_000 + 1)
                    $0.person = ActivityTexts.people[Int(person % 16)].description
                    $0.characterID = Int64(show * 4 + place)
                    $0.character = "Number \(place + 1)"
                }
            }
        }
    }
}
