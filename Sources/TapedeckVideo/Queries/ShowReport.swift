internal import TapedeckModel
internal import TapedeckProjections

/// A show with its episodes and its cast.
public struct ShowReport: Codable, Hashable, Sendable {
    /// An episode of the show.
    public struct Episode: Codable, Hashable, Sendable {
        /// TVmaze's id.
        public var id: Int64
        /// Its season.
        public var season: Int64?
        /// Its number in the season; nil for specials.
        public var number: Int64?
        /// Its name.
        public var name: String?
        /// When it begins.
        public var startsAt: UTCTime?

        /// Writes all fields, also those that are nil.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(season, forKey: .season)
            try container.encode(number, forKey: .number)
            try container.encode(name, forKey: .name)
            try container.encode(startsAt, forKey: .startsAt)
        }
    }

    /// Somebody in the cast.
    public struct CastMember: Codable, Hashable, Sendable {
        /// The person's name.
        public var person: String?
        /// The character's name.
        public var character: String?
        /// The person's picture, else the character's.
        public var image: String?

        /// Writes all fields, also those that are nil.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(person, forKey: .person)
            try container.encode(character, forKey: .character)
            try container.encode(image, forKey: .image)
        }
    }

    /// TVmaze's id.
    public var id: Int64
    /// Its name.
    public var name: String?
    /// The name of its network, else of its web channel.
    public var network: String?
    /// Its genres.
    public var genres: [String]
    /// What it is about, as plain text.
    public var summary: String?
    /// The address of its poster.
    public var image: String?
    /// How long an episode is.
    public var runtimeMinutes: Int?
    /// Its episodes by season and number.
    public var episodes: [Episode]
    /// Its cast in TVmaze's order.
    public var cast: [CastMember]

    /// Writes all fields, also those that are nil.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encode(network, forKey: .network)
        try container.encode(genres, forKey: .genres)
        try container.encode(summary, forKey: .summary)
        try container.encode(image, forKey: .image)
        try container.encode(runtimeMinutes, forKey: .runtimeMinutes)
        try container.encode(episodes, forKey: .episodes)
        try container.encode(cast, forKey: .cast)
    }
}

extension VideoQueries {
    /// A show with its episodes and its cast.
    ///
    /// Throws `ModelError` with `.notFound` where nothing is known of it.
    public func show(_ id: Int64) throws -> ShowReport {
        let state = try reader.state(of: projections.shows, key: Tag("show", String(id)))
        let episodes = try episodes(ofShow: id)
        guard state != nil || !episodes.isEmpty else {
            throw ModelError(
                .notFound, "nothing is known of show \(id)",
                hint: "ingest it: storectl ingest tvmaze/show FILE")
        }
        let show = state?.show ?? ShowObserved()
        return ShowReport(
            id: id, name: show.hasName ? show.name : nil, network: show.channelName,
            genres: show.genres,
            summary: show.hasSummary ? PlainText(html: show.summary).text : nil,
            image: show.hasImage ? show.image.address : nil,
            runtimeMinutes: show.hasRuntimeMinutes ? Int(show.runtimeMinutes) : nil,
            episodes: episodes,
            cast: (state?.cast.cast ?? []).map { member in
                ShowReport.CastMember(
                    person: member.hasPerson ? member.person : nil,
                    character: member.hasCharacter ? member.character : nil,
                    image: member.personImage.address ?? member.characterImage.address)
            })
    }

    private func episodes(ofShow id: Int64) throws -> [ShowReport.Episode] {
        var episodes: [ShowReport.Episode] = []
        var after: [UInt8]?
        let bounds = (RowKey().ascending(id), id < .max ? RowKey().ascending(id + 1) : nil)
        while true {
            let rows = try reader.rows(
                of: projections.schedule, table: EpisodeSchedule.byShow, lower: bounds.0,
                upper: bounds.1, after: after, limit: 1_000)
            for row in rows {
                let entry = try EpisodeEntry(decoding: row.value)
                let number = row.key.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                episodes.append(
                    ShowReport.Episode(
                        id: Int64(bitPattern: number ^ (1 << 63)), season: entry.season,
                        number: entry.number, name: entry.name,
                        startsAt: entry.startsAt.map(UTCTime.init)))
            }
            guard rows.count == 1_000, let last = rows.last else { return episodes }
            after = last.key
        }
    }
}

extension ShowObserved {
    /// The name of the network, else of the web channel.
    var channelName: String? {
        if hasNetwork, network.hasName { return network.name }
        return hasWebChannel && webChannel.hasName ? webChannel.name : nil
    }
}

extension TVmazeImage {
    /// The smaller picture, else the original; nil where there is none.
    var address: String? { hasMedium ? medium : hasOriginal ? original : nil }
}
