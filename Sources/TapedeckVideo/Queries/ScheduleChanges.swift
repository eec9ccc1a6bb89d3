public import TapedeckLog
public import TapedeckModel
internal import TapedeckProjections

/// The changes in schedules since a log position.
public struct ScheduleChanges: Codable, Hashable, Sendable {
    /// The kind of change to an episode.
    public enum Kind: String, Codable, Sendable {
        /// The episode was unknown before, or had been cancelled.
        case added
        /// The start time of the episode changed.
        case rescheduled
        /// The episode is missing from a complete listing of its day.
        case cancelled
        /// Other details of the episode changed.
        case details
    }

    /// An episode that has changed.
    public struct Episode: Codable, Hashable, Sendable {
        /// The TVmaze id of the episode.
        public var id: Int64
        /// The kind of change.
        public var change: Kind
        /// The name of the show.
        @NullWhenNil public var show: String?
        /// The TVmaze id of the show.
        public var showId: Int64
        /// The name of the episode.
        @NullWhenNil public var name: String?
        /// The number of the season.
        @NullWhenNil public var season: Int64?
        /// The number of the episode in its season; nil for specials.
        @NullWhenNil public var number: Int64?
        /// The name of the network or, if there is none, of the web channel.
        @NullWhenNil public var network: String?
        /// The previous start time; nil if the episode was not listed or the time was unknown.
        @NullWhenNil public var from: UTCTime?
        /// The new start time; nil if the episode is cancelled or the time is unknown.
        @NullWhenNil public var to: UTCTime?
        /// The names of the changed fields; the fields of the start time are left out if `from` and
        /// `to` differ.
        public var fields: [String]
    }

    /// A known show that has changed.
    public struct Show: Codable, Hashable, Sendable {
        /// The TVmaze id of the show.
        public var id: Int64
        /// The name of the show.
        @NullWhenNil public var name: String?
        /// The names of the changed fields, with `cast` for a change to the cast.
        public var fields: [String]
    }

    /// The episodes, in the order of their first change in the log.
    public var episodes: [Episode]
    /// The shows, in the order of their first change in the log.
    public var shows: [Show]
    /// The last log position that was read; pass it as `since` next time.
    public var head: UInt64
    /// Whether there may be more changes after `head`.
    public var more: Bool
}

extension VideoQueries {
    /// Returns the changes in schedules after a log position.
    ///
    /// This method compares the facts known at `mark` with the facts known at `head`. Changes that
    /// were reverted and older observations that arrived late are not reported. The method reads
    /// the events between the two positions, and all observations of the episodes and shows in
    /// these events. Throws the log's errors, and `ModelError` with `.usage` for an invalid limit.
    ///
    /// - Parameters:
    ///   - mark: The `head` of the previous result.
    ///   - log: The log from which the reader's projections are built.
    ///   - limit: The maximum number of episodes and shows to compare. The episodes of a listing
    ///     are compared together, even if the listing alone exceeds the limit.
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

    /// Returns whether an episode is listed and, if it is, its start time.
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
        // The first cast of a show counts as a change only if the show was already known.
        if was != nil, oldCast?.cast ?? [] != newCast?.cast ?? [] { fields.append("cast") }
        guard !fields.isEmpty else { return nil }
        return ScheduleChanges.Show(
            id: id, name: now.flatMap { $0.hasName ? $0.name : nil }, fields: fields)
    }
}
