internal import TapedeckModel
internal import TapedeckProjections

/// A show with its episodes and its cast.
public struct ShowReport: Codable, Hashable, Sendable {
    /// An episode of the show.
    public struct Episode: Codable, Hashable, Sendable {
        /// The TVmaze id of the episode.
        public var id: Int64
        /// The number of the season.
        @NullWhenNil public var season: Int64?
        /// The number of the episode in its season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// The name of the episode.
        @NullWhenNil public var name: String?
        /// The start time.
        @NullWhenNil public var startsAt: UTCTime?
    }

    /// A member of the cast.
    public struct CastMember: Codable, Hashable, Sendable {
        /// The person's name.
        @NullWhenNil public var person: String?
        /// The character's name.
        @NullWhenNil public var character: String?
        /// The URL of the person's picture or, if there is none, of the character's picture.
        @NullWhenNil public var image: String?
    }

    /// The TVmaze id of the show.
    public var id: Int64
    /// The name of the show.
    @NullWhenNil public var name: String?
    /// The name of the network or, if there is none, of the web channel.
    @NullWhenNil public var network: String?
    /// The genres of the show.
    public var genres: [String]
    /// The summary, as plain text.
    @NullWhenNil public var summary: String?
    /// The URL of the poster.
    @NullWhenNil public var image: String?
    /// The length of an episode in minutes.
    @NullWhenNil public var runtimeMinutes: Int?
    /// The episodes, sorted by season and number.
    public var episodes: [Episode]
    /// The cast, in TVmaze's order.
    public var cast: [CastMember]
}

extension VideoQueries {
    /// Returns a show with its episodes and its cast.
    ///
    /// Throws `ModelError` with `.notFound` if the show is unknown.
    public func show(_ id: Int64) throws -> ShowReport {
        let state = try reader.state(of: projections.shows, key: Tag("show", String(id)))
        let episodes = try episodes(ofShow: id)
        guard state != nil || !episodes.isEmpty else {
            throw ModelError(
                .notFound, "show \(id) is unknown",
                hint: "add it with storectl ingest tvmaze/show FILE")
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
    /// The name of the network or, if there is none, of the web channel.
    var channelName: String? {
        if hasNetwork, network.hasName { return network.name }
        return hasWebChannel && webChannel.hasName ? webChannel.name : nil
    }
}

extension TVmazeImage {
    /// The URL of the smaller picture or, if there is none, of the original; nil if there is no
    /// picture.
    var address: String? { hasMedium ? medium : hasOriginal ? original : nil }
}
