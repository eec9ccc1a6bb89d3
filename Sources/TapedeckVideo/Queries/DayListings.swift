internal import TapedeckModel
internal import TapedeckProjections

extension QueryLimits {
    /// The maximum number of days between an airdate and the day on which its episode begins.
    ///
    /// An episode that begins after midnight has the previous day as its airdate.
    static let airdateDaysMax = 1
}

/// The complete listings of several days, which reveal which episodes were removed.
struct DayListings {
    private var days: [Int: [ScheduleListings.State]] = [:]

    mutating func add(_ listing: ScheduleListings.State, of day: CalendarDay) {
        days[day.number, default: []].append(listing)
    }

    /// Returns the days whose listings may contain an episode that begins on `day` in its channel's
    /// time zone.
    ///
    /// Networks list an episode on the day on which it begins, and web channels list it on its
    /// airdate. An airdate more than `QueryLimits.airdateDaysMax` days before or after `day` was
    /// reported for a different start time and is ignored.
    static func days(of episode: EpisodeScheduled, on day: CalendarDay) -> Set<CalendarDay> {
        guard let airdate = CalendarDay(episode.airdate),
            abs(airdate.number - day.number) <= QueryLimits.airdateDaysMax
        else { return [day] }
        return [day, airdate]
    }

    /// Returns whether an episode is cancelled: an earlier listing for its days contained it, and
    /// no current listing contains it.
    ///
    /// An episode is not cancelled if it was reported with a version of its show that is newer than
    /// the listing.
    func isCancelled(_ episode: EpisodeScheduled, on day: CalendarDay) -> Bool {
        var goneAt: Int64?
        for day in DayListings.days(of: episode, on: day) {
            for listing in days[day.number] ?? [] {
                if listing.episodes.holdsSorted(episode.episode) { return false }
                if listing.gone.holdsSorted(episode.episode) {
                    goneAt = max(goneAt ?? .min, listing.listedAt)
                }
            }
        }
        guard let goneAt else { return false }
        return !episode.hasShowUpdated || episode.showUpdated * 1_000 <= goneAt
    }
}

extension [Int64] {
    /// Returns whether a sorted array contains a number.
    fileprivate func holdsSorted(_ number: Int64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == number
    }
}

extension VideoQueries {
    /// Returns the listings of all days in a range, with their keys.
    func listings(
        from first: CalendarDay, through last: CalendarDay
    ) throws -> [(day: CalendarDay, key: Tag, listing: ScheduleListings.State)] {
        var found: [(CalendarDay, Tag, ScheduleListings.State)] = []
        var after: [UInt8]?
        while true {
            let rows = try reader.rows(
                of: projections.listings, table: 0, lower: ScheduleListings.rowKey(first),
                upper: ScheduleListings.rowKey(last.adding(1)), after: after, limit: 100)
            for row in rows {
                let key = tag("listing", in: row, after: 8)
                guard let (day, listing) = try listing(row) else { continue }
                found.append((day, key, listing))
            }
            guard rows.count == 100, let last = rows.last else { return found }
            after = last.key
        }
    }

    /// Returns the listing in a row and its day, or nil if the row's key contains no day.
    func listing(_ row: Row) throws -> (day: CalendarDay, listing: ScheduleListings.State)? {
        let key = tag("listing", in: row, after: 8)
        guard let day = CalendarDay(key.name.suffix(10)) else { return nil }
        let listing = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try ScheduleListings.State(decoding: &reader)
        }
        return (day, listing)
    }
}
