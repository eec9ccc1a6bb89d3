internal import TapedeckLog
internal import TapedeckModel

/// The known facts about schedules at two positions of a log.
struct ScheduleHistory {
    let log: EventLog
    /// The first position.
    let mark: LogPosition
    /// The second position.
    private(set) var head: LogPosition
    var zones = ZoneCache()
    private var listings: [Tag: (ScheduleListings.State?, ScheduleListings.State?)] = [:]

    init(log: EventLog, mark: LogPosition, head: LogPosition) {
        self.log = log
        self.mark = mark
        self.head = head
    }

    // MARK: - Possible changes

    /// Returns the episodes and shows that are affected by events after the first position, in log
    /// order.
    ///
    /// If there are more than `limit` episodes and shows, the second position moves back to the
    /// position at which the search stopped.
    mutating func touched(limit: Int) throws -> (episodes: [Int64], shows: [Int64]) {
        var found = Touched()
        // An episode or a show usually has one event, so `2 * limit` events of each type are
        // enough.
        for event in try events(count: 2 * limit) {
            var more = found
            switch event.type {
            case EpisodeScheduled.eventType:
                more.add(episode: try event.decode(EpisodeScheduled.self).episode)
            case ShowObserved.eventType:
                more.add(show: try event.decode(ShowObserved.self).show)
            case CastObserved.eventType:
                more.add(show: try event.decode(CastObserved.self).show)
            default:
                for id in try episodes(movedBy: event) { more.add(episode: id) }
            }
            if more.count > limit, found.count > 0 {
                head = LogPosition(rawValue: event.position.rawValue - 1)
                break
            }
            found = more
        }
        return (found.episodes, found.shows)
    }

    private struct Touched {
        private(set) var episodes: [Int64] = []
        private(set) var shows: [Int64] = []
        private var seen: (episodes: Set<Int64>, shows: Set<Int64>) = ([], [])

        var count: Int { episodes.count + shows.count }

        mutating func add(episode: Int64) {
            if seen.episodes.insert(episode).inserted { episodes.append(episode) }
        }

        mutating func add(show: Int64) {
            if seen.shows.insert(show).inserted { shows.append(show) }
        }
    }

    /// Returns the events between the two positions, at most `count` per type.
    ///
    /// If there may be more events of a type than were returned, the second position moves back to
    /// the last returned event of that type.
    private mutating func events(count: Int) throws -> [EventEnvelope] {
        var found: [EventEnvelope] = []
        for type in [
            EpisodeScheduled.eventType, ScheduleListed.eventType, ShowObserved.eventType,
            CastObserved.eventType,
        ] {
            let events = try log.events(after: mark, limit: count, type: type)
            if events.count == count, let last = events.last {
                head = min(head, last.position)
            }
            found += try events.filter(counts)
        }
        return found.filter { $0.position <= head }.sorted { $0.position < $1.position }
    }

    /// Returns the episodes that were added to or removed from a listing between the first position
    /// and an event.
    private func episodes(movedBy event: EventEnvelope) throws -> [Int64] {
        guard let key = event.tags.first(where: { $0.kind == "listing" }) else { return [] }
        let events = try self.events(of: ScheduleListed.self, key)
        let was = try ScheduleHistory.listing(events.filter { $0.position <= mark })
        let now = try ScheduleHistory.listing(events.filter { $0.position <= event.position })
        return Set(was?.episodes ?? []).symmetricDifference(now?.episodes ?? []).sorted()
    }

    // MARK: - Facts before and after

    /// Returns the merged observations of an entity as of the first and as of the second position.
    func sum<Message: MergeableObservation & VideoEvent>(
        of type: Message.Type, _ key: Tag
    ) throws -> (before: Message?, after: Message?) {
        func sum(_ events: [EventEnvelope]) throws -> Message? {
            guard !events.isEmpty else { return nil }
            var known = Message()
            for event in events { known.merge(newer: try event.decode(type).normalized()) }
            return known
        }
        let events = try events(of: type, key)
        return (try sum(events.filter { $0.position <= mark }), try sum(events))
    }

    /// Returns the newest observation of an entity as of the first and as of the second position.
    func newest<Message: VideoEvent>(
        of type: Message.Type, _ key: Tag
    ) throws -> (before: Message?, after: Message?) {
        let events = try events(of: type, key)
        return (
            try events.last { $0.position <= mark }?.decode(type), try events.last?.decode(type)
        )
    }

    /// Returns a listing as of the first and as of the second position; each listing is read only
    /// once.
    mutating func listing(
        _ key: Tag
    ) throws -> (before: ScheduleListings.State?, after: ScheduleListings.State?) {
        if let known = listings[key] { return known }
        let events = try events(of: ScheduleListed.self, key)
        let found = (
            try ScheduleHistory.listing(events.filter { $0.position <= mark }),
            try ScheduleHistory.listing(events)
        )
        listings[key] = found
        return found
    }

    private static func listing(_ events: [EventEnvelope]) throws -> ScheduleListings.State? {
        guard !events.isEmpty else { return nil }
        var state = ScheduleListings.State()
        for event in events { state.take(try event.decode(ScheduleListed.self).normalized()) }
        return state
    }

    /// Returns the observations of an entity up to the second position, in fold order.
    private func events<Message: VideoEvent>(
        of type: Message.Type, _ key: Tag
    ) throws -> [EventEnvelope] {
        var found: [EventEnvelope] = []
        var after = LogPosition.start
        while after < head {
            let events = try log.events(after: after, type: Message.eventType, tag: key)
            found += try events.filter { try $0.position <= head && counts($0) }
            guard let last = events.last else { break }
            after = last.position
        }
        return found.compactMap { event in event.fact.map { (event, $0.order) } }
            .sorted { $0.1 < $1.1 }.map(\.0)
    }

    private func counts(_ event: EventEnvelope) throws -> Bool {
        try event.encoding == .plain && !log.standing(of: event).isRefused
    }
}
