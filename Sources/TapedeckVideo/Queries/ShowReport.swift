internal import TapedeckModel
internal import TapedeckProjections

/// A show with its episodes and its cast.
public struct ShowReport: Codable, Hashable, Sendable {
    /// An episode of the show.
    public struct Episode: Codable, Hashable, Sendable {
        /// TVmaze's id.
        public var id: Int64
        /// Its season.
        @NullWhenNil public var season: Int64?
        /// Its number in the season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// Its name.
        @NullWhenNil public var name: String?
        /// When it begins.
        @NullWhenNil public var startsAt: UTCTime?
    }

    /// Somebody in the cast.
    public struct CastMember: Codable, Hashable, Sendable {
        /// The person's name.
        @NullWhenNil public var person: String?
        /// The character's name.
        @NullWhenNil public var character: String?
        /// The person's picture, else the character's.
        @NullWhenNil public var image: String?
    }

    /// TVmaze's id.
    public var id: Int64
    /// Its name.
    @NullWhenNil public var name: String?
    /// The name of its network, else of its web channel.
    @NullWhenNil public var network: String?
    /// Its genres.
    public var genres: [String]
    /// What it is about, as plain text.
    @NullWhenNil public var summary: String?
    /// The address of its poster.
    @NullWhenNil public var image: String?
    /// How long an episode is.
    @NullWhenNil public var runtimeMinutes: Int?
    /// Its episodes by season and number.
    public var episodes: [Episode]
    /// Its cast in TVmaze's order.
    public var cast: [CastMember]
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
                upper: bounds.1, after: after, limit: 1_000,
                eventsTagged: Tag("show", String(id)))
            for row in rows {
                let entry = try EpisodeEntry(decoding: row.value)
                episodes.append(
                    ShowReport.Episode(
                        id: Int64(ascending: row.key.suffix(8)), season: entry.season,
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
