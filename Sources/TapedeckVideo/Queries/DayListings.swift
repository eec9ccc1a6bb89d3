internal import TapedeckModel
internal import TapedeckProjections

/// The whole listings of some days, to be asked which episodes are gone from them.
struct DayListings {
    private var days: [Int: [ScheduleListings.State]] = [:]

    mutating func add(_ listing: ScheduleListings.State, of day: CalendarDay) {
        days[day.number, default: []].append(listing)
    }

    /// Whether an episode is cancelled: a listing of its day had it and has it no more, and no listing of
    /// its day has it.
    ///
    /// Its day is the one on which it begins in its channel's zone, by which networks are listed, or its
    /// airdate, by which web channels are. A sighting with a version of its show that is newer than the
    /// listing knows better.
    func isCancelled(_ episode: EpisodeScheduled, on day: CalendarDay?) -> Bool {
        var goneAt: Int64?
        for number in Set([day, CalendarDay(episode.airdate)].compactMap { $0?.number }) {
            for listing in days[number] ?? [] {
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
