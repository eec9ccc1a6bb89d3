/// The format of TVmaze's responses, with many nulls, links, HTML strings, and a changing weight.
extension TVmazeWorld {
    private static let site = "https://www.tvmaze.example"
    private static let api = "https://api.tvmaze.example"

    /// Returns a show.
    ///
    /// - Parameter weight: The show's popularity, which differs from response to response.
    func document(_ show: Show, weight: Int) -> SimulatedJSON {
        let channel = document(show.channel)
        return [
            "id": .count(show.id), "url": .text("\(TVmazeWorld.site)/shows/\(show.id)"),
            "name": .text(show.name), "type": "Scripted", "language": "English",
            "genres": .array(show.genres.map { .text($0) }), "status": "Running",
            "runtime": .count(show.runtimeMinutes), "averageRuntime": .count(show.runtimeMinutes),
            "premiered": "2019-07-10", "ended": nil, "officialSite": nil,
            "schedule": [
                "time": .text(show.airtime),
                "days": .array(show.weekdays.map { .text(TVmazeWorld.weekdays[$0 % 7]) }),
            ],
            "rating": ["average": nil], "weight": .count(weight),
            "network": show.channel.isWeb ? nil : channel,
            "webChannel": show.channel.isWeb ? channel : nil, "dvdCountry": nil,
            "externals": ["tvrage": nil, "thetvdb": .count(300_000 + show.id), "imdb": nil],
            "image": image("shows", show.id), "summary": .text(show.summary),
            "updated": .int(show.updated), "_links": links("shows", show.id),
        ]
    }

    private static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    private func document(_ channel: Channel) -> SimulatedJSON {
        let country = channel.country.map { country -> SimulatedJSON in
            [
                "name": .text(country.name), "code": .text(country.code),
                "timezone": .text(country.timezone),
            ]
        }
        return [
            "id": .count(channel.id), "name": .text(channel.name), "country": country ?? .null,
            "officialSite": nil,
        ]
    }

    /// Returns an episode with its show; the show of a web channel is under `_embedded`.
    func listed(_ episode: Episode, weight: Int) -> SimulatedJSON {
        let document = document(episode)
        guard let show = shows[episode.show] else { return document }
        let shown = self.document(show, weight: weight)
        return show.channel.isWeb
            ? document.adding(["_embedded": ["show": shown]]) : document.adding(["show": shown])
    }

    private func document(_ episode: Episode) -> SimulatedJSON {
        [
            "id": .count(episode.id), "url": .text("\(TVmazeWorld.site)/episodes/\(episode.id)"),
            "name": .text(episode.name), "season": .count(episode.season),
            "number": .optional(episode.number.map(Int64.init)),
            "type": episode.number == nil ? "insignificant_special" : "regular",
            "airdate": .text(episode.airdate), "airtime": .text(episode.airtime),
            "airstamp": .text(TVmazeWorld.stamp(episode.startsAt)),
            "runtime": .count(episode.runtimeMinutes), "rating": ["average": nil], "image": nil,
            "summary": .optional(episode.summary), "_links": links("episodes", episode.id),
        ]
    }

    func document(_ role: Role) -> SimulatedJSON {
        [
            "person": [
                "id": .count(role.person), "name": .text(role.personName), "country": nil,
                "birthday": nil, "deathday": nil, "gender": nil,
                "image": image("people", role.person), "_links": links("people", role.person),
            ],
            "character": [
                "id": .count(role.character), "name": .text(role.characterName), "image": nil,
                "_links": links("characters", role.character),
            ], "self": false, "voice": false,
        ]
    }

    private func image(_ table: String, _ id: Int) -> SimulatedJSON {
        guard !id.isMultiple(of: 5) else { return .null }
        let place = "https://static.tvmaze.example/\(table)/\(id)"
        return [
            "medium": .text("\(place)-medium.jpg"), "original": .text("\(place)-original.jpg"),
        ]
    }

    private func links(_ table: String, _ id: Int) -> SimulatedJSON {
        ["self": ["href": .text("\(TVmazeWorld.api)/\(table)/\(id)")]]
    }

    /// Returns a time such as `2019-07-11T05:30:00+00:00`.
    private static func stamp(_ milliseconds: Int64) -> String {
        SimulatedTime.isoSeconds(milliseconds).replacing(".000Z", with: "+00:00")
    }
}
