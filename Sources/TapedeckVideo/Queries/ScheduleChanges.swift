public import TapedeckLog
public import TapedeckModel
internal import TapedeckProjections

/// What has changed in schedules since a place in the log.
public struct ScheduleChanges: Codable, Hashable, Sendable {
    /// What became of an episode.
    public enum Kind: String, Codable, Sendable {
        /// It was not known before, or had been cancelled.
        case added
        /// It begins at another time.
        case rescheduled
        /// It is gone from a whole listing of its day.
        case cancelled
        /// Something else is told of it.
        case details
    }

    /// An episode that has changed.
    public struct Episode: Codable, Hashable, Sendable {
        /// TVmaze's id.
        public var id: Int64
        /// What became of it.
        public var change: Kind
        /// The name of its show.
        @NullWhenNil public var show: String?
        /// TVmaze's id of its show.
        public var showId: Int64
        /// Its name.
        @NullWhenNil public var name: String?
        /// Its season.
        @NullWhenNil public var season: Int64?
        /// Its number in the season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// The name of its network, else of its web channel.
        @NullWhenNil public var network: String?
        /// When it was to begin; nil where it was not listed, or nobody knew when.
        @NullWhenNil public var from: UTCTime?
        /// When it begins; nil where it is cancelled, or nobody knows when.
        @NullWhenNil public var to: UTCTime?
        /// The names of the fields that differ, those of its time of day only where `from` and `to` do not
        /// tell it.
        public var fields: [String]
    }

    /// A show that was known and has changed.
    public struct Show: Codable, Hashable, Sendable {
        /// TVmaze's id.
        public var id: Int64
        /// Its name.
        @NullWhenNil public var name: String?
        /// The names of the fields that differ; `cast` for its cast.
        public var fields: [String]
    }

    /// The episodes, in the order in which the log first tells of a change.
    public var episodes: [Episode]
    /// The shows, in that order too.
    public var shows: [Show]
    /// How far the log was read: the place to ask from next time.
    public var head: UInt64
    /// Whether there is more behind it.
    public var more: Bool
}

extension VideoQueries {
    /// What has changed in schedules behind a place in the log.
    ///
    /// What is known by all that stands up to the place is compared with what is known by all that stands up
    /// to `head`. What was changed and changed back is no change, nor is an older sighting that comes late.
    ///
    /// Costs what stands between the two, and all sightings of each episode and show in it.
    ///
    /// - Parameters:
    ///   - mark: the `head` of the answer before.
    ///   - log: the log that the reader's projections are of.
    ///   - limit: after how many episodes and shows that may have changed it stops; those that one listing
    ///     concerns are not divided.
    ///
    /// Throws what the log throws, and `ModelError` with `.usage` for a limit that makes no sense.
    public func scheduleChanges(
        since mark: LogPosition, in log: EventLog, limit: Int = QueryLimits.pageCountDefault
    ) throws -> ScheduleChanges {
        try QueryLimits.check(limit)
        var history = ScheduleHistory(log: log, mark: mark, head: try log.currentHead())
        let end = history.head
        let (episodes, shows) = try history.touched(limit: limit)
        var changes = ScheduleChanges(
            episodes: [], shows: [], head: history.head.rawValue, more: history.head < end)
        for id in episodes {
            if let change = try change(ofEpisode: id, in: &history) {
                changes.episodes.append(change)
            }
        }
        for id in shows {
            if let change = try change(ofShow: id, in: history) { changes.shows.append(change) }
        }
        return changes
    }

    private func change(
        ofEpisode id: Int64, in history: inout ScheduleHistory
    ) throws -> ScheduleChanges.Episode? {
        let (before, after) = try history.sum(
            of: EpisodeScheduled.self, Tag("episode", String(id)))
        guard let after else { return nil }
        let was = try before.map { try listing(of: $0, before: true, in: &history) }
        let now = try listing(of: after, before: false, in: &history)
        guard was?.isListed ?? false || now.isListed else { return nil }
        var fields = before.map { after.namesOfFields(differingFrom: $0) } ?? []
        let kind: ScheduleChanges.Kind
        if !now.isListed {
            kind = .cancelled
            fields = []
        } else if !(was?.isListed ?? false) {
            kind = .added
            fields = []
        } else if was?.start != now.start {
            kind = .rescheduled
            fields.removeAll { ["airdate", "airtime", "airstamp"].contains($0) }
        } else {
            guard !fields.isEmpty else { return nil }
            kind = .details
        }
        let show = try knownShow(after.show)
        return ScheduleChanges.Episode(
            id: id, change: kind, show: show.hasName ? show.name : nil, showId: after.show,
            name: after.hasName ? after.name : nil,
            season: after.hasSeason ? Int64(after.season) : nil,
            number: after.hasNumber ? Int64(after.number) : nil, network: show.channelName,
            from: was?.start, to: now.start, fields: fields)
    }

    /// Whether an episode is listed, and when it begins if it is.
    private func listing(
        of episode: EpisodeScheduled, before: Bool, in history: inout ScheduleHistory
    ) throws -> (isListed: Bool, start: UTCTime?) {
        guard episode.hasAirstamp else { return (true, nil) }
        let start = episode.airstamp.milliseconds
        let show = try knownShow(episode.show)
        let channel = show.hasNetwork ? show.network : show.webChannel
        let offset = history.zones.offsetSeconds(
            channel.zone, milliseconds: start)
        let day = CalendarDay(milliseconds: start, offsetSeconds: offset)
        var listings = DayListings()
        for day in DayListings.days(of: episode, on: day) {
            for found in try self.listings(from: day, through: day) {
                let (was, now) = try history.listing(found.key)
                if let listing = before ? was : now { listings.add(listing, of: day) }
            }
        }
        let isListed = !listings.isCancelled(episode, on: day)
        return (isListed, isListed ? UTCTime(milliseconds: start) : nil)
    }

    private func change(
        ofShow id: Int64, in history: ScheduleHistory
    ) throws -> ScheduleChanges.Show? {
        let key = try Tag("show", String(id))
        let (was, now) = try history.sum(of: ShowObserved.self, key)
        let (oldCast, newCast) = try history.newest(of: CastObserved.self, key)
        var fields: [String] = []
        if let was, let now { fields = now.namesOfFields(differingFrom: was) }
        // The first cast is news only of a show that was known.
        if was != nil, oldCast?.cast ?? [] != newCast?.cast ?? [] { fields.append("cast") }
        guard !fields.isEmpty else { return nil }
        return ScheduleChanges.Show(
            id: id, name: now.flatMap { $0.hasName ? $0.name : nil }, fields: fields)
    }
}
