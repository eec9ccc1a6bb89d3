internal import TapedeckModel
internal import TapedeckProjections

/// Helpers shared by the schedule queries.
enum ScheduleQuery {
    static let dayMilliseconds: Int64 = 86_400_000

    /// Returns the days whose listings may contain episodes that begin between two times, in
    /// milliseconds since 1970.
    static func days(from lower: Int64, to upper: Int64) -> (first: CalendarDay, last: CalendarDay)
    {
        // The date in a channel's time zone may be one day earlier or later than in UTC.
        let days = 1 + QueryLimits.airdateDaysMax
        return (
            CalendarDay(milliseconds: lower, offsetSeconds: 0).adding(-days),
            CalendarDay(milliseconds: upper, offsetSeconds: 0).adding(days)
        )
    }
}

/// An episode in a schedule, with its show and its channel.
struct ListedEpisode {
    let episode: EpisodeScheduled
    let show: ShowObserved
    let channel: TVmazeChannel
    /// The day on which the episode begins in its channel's time zone.
    let day: CalendarDay

    /// Creates a listed episode, or returns nil if the episode is cancelled.
    init?(
        _ episode: EpisodeScheduled, _ show: ShowObserved, _ channel: TVmazeChannel,
        _ listings: DayListings, _ zones: inout ZoneCache
    ) {
        let start = episode.airstamp.milliseconds
        let offset = zones.offsetSeconds(channel.zone, milliseconds: start)
        day = CalendarDay(milliseconds: start, offsetSeconds: offset)
        guard !listings.isCancelled(episode, on: day) else { return nil }
        (self.episode, self.show, self.channel) = (episode, show, channel)
    }

    /// The time at which the episode begins, in milliseconds since 1970.
    var start: Int64 { episode.airstamp.milliseconds }

    /// The time at which the episode ends, in milliseconds since 1970; nil if its time of day or
    /// its length is unknown.
    var end: Int64? {
        let minutes = [
            episode.runtimeMinutes, show.runtimeMinutes, show.averageRuntimeMinutes,
        ].first { $0 > 0 }
        guard let minutes, !episode.airtime.isEmpty else { return nil }
        return start + Int64(minutes) * 60_000
    }

    /// The episode in the form used by reports.
    var entry: ScheduleWeek.Episode {
        ScheduleWeek.Episode(
            id: episode.episode, show: show.hasName ? show.name : nil, showId: episode.show,
            name: episode.hasName ? episode.name : nil,
            season: episode.hasSeason ? Int64(episode.season) : nil,
            number: episode.hasNumber ? Int64(episode.number) : nil,
            startsAt: UTCTime(milliseconds: start), timeKnown: !episode.airtime.isEmpty,
            endsAt: end.map(UTCTime.init),
            runtimeMinutes: episode.hasRuntimeMinutes ? Int(episode.runtimeMinutes) : nil,
            network: channel.hasName ? channel.name : nil,
            image: episode.image.address ?? show.image.address,
            summary: episode.hasSummary ? PlainText(html: episode.summary).text : nil)
    }
}

extension TVmazeChannel {
    /// The name of the channel's time zone; nil if unknown.
    package var zone: String? { hasTimezone ? timezone : nil }
}

extension VideoQueries {
    /// Calls `body` for each episode that begins in a span of time, in order of start time and id.
    ///
    /// Cancelled episodes are left out. Reads the rows of all channels in the span until `body`
    /// returns false, and looks up each show once.
    ///
    /// - Returns: whether `body` returned true for every episode.
    @discardableResult
    func forEachEpisode(
        from lower: UTCTime, to upper: UTCTime, _ scope: ScheduleScope,
        _ body: (ListedEpisode) throws -> Bool
    ) throws -> Bool {
        var shows: [Int64: (show: ShowObserved, channel: TVmazeChannel?)] = [:]
        var zones = ZoneCache()
        var cancelled = DayListings()
        let days = ScheduleQuery.days(from: lower.milliseconds, to: upper.milliseconds)
        for found in try listings(from: days.first, through: days.last) {
            cancelled.add(found.listing, of: found.day)
        }
        let bounds = (
            RowKey().ascending(lower.milliseconds), RowKey().ascending(upper.milliseconds)
        )
        var after: [UInt8]?
        while true {
            let rows = try reader.rows(
                of: projections.schedule, table: EpisodeSchedule.byStart, lower: bounds.0,
                upper: bounds.1, after: after, limit: 1_000)
            for row in rows {
                let episode = try EpisodeScheduled(payload: row.value)
                let known: (show: ShowObserved, channel: TVmazeChannel?)
                if let found = shows[episode.show] {
                    known = found
                } else {
                    let show = try self.knownShow(episode.show)
                    known = (show, scope.channel(of: show))
                    shows[episode.show] = known
                }
                guard let channel = known.channel else { continue }
                if let listed = ListedEpisode(episode, known.show, channel, cancelled, &zones),
                    try !body(listed)
                {
                    return false
                }
            }
            guard rows.count == 1_000, let last = rows.last else { return true }
            after = last.key
        }
    }

    /// Returns the known facts about a show, or an empty value if the show is unknown.
    func knownShow(_ id: Int64) throws -> ShowObserved {
        let tag = Tag(unchecked: "show/\(id)")
        return try reader.state(of: projections.shows, key: tag)?.show ?? ShowObserved()
    }
}
