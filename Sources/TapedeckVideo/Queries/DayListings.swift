internal import TapedeckModel
internal import TapedeckProjections

extension QueryLimits {
    /// How far an airdate lies from the day on which its episode begins: nights belong to the day before.
    static let airdateDaysMax = 1
}

/// The whole listings of some days, to be asked which episodes are gone from them.
struct DayListings {
    private var days: [Int: [ScheduleListings.State]] = [:]

    mutating func add(_ listing: ScheduleListings.State, of day: CalendarDay) {
        days[day.number, default: []].append(listing)
    }

    /// The days of whose listings an episode may be that begins on a day in its channel's zone: that one, by
    /// which networks are listed, and its airdate, by which web channels are.
    ///
    /// An airdate that is further from that day was told of another beginning, and counts no more.
    static func days(of episode: EpisodeScheduled, on day: CalendarDay) -> Set<CalendarDay> {
        guard let airdate = CalendarDay(episode.airdate),
            abs(airdate.number - day.number) <= QueryLimits.airdateDaysMax
        else { return [day] }
        return [day, airdate]
    }

    /// Whether an episode is cancelled: a listing of its days had it and has it no more, and no listing of
    /// its days has it.
    ///
    /// A sighting with a version of its show that is newer than the listing knows better.
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
    /// Whether a sorted array has a number.
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
    /// The listings of all days from one to another, with their keys.
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

    /// The listing of a row, and its day; nil where it is of none.
    func listing(_ row: Row) throws -> (day: CalendarDay, listing: ScheduleListings.State)? {
        let key = tag("listing", in: row, after: 8)
        guard let day = CalendarDay(key.name.suffix(10)) else { return nil }
        let listing = try StateReader.read(row.value) { (reader) throws(ModelError) in
            try ScheduleListings.State(decoding: &reader)
        }
        return (day, listing)
    }
}
