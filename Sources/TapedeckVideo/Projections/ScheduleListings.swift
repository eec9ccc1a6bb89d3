public import TapedeckModel
public import TapedeckProjections

/// What whole listings say of the days of schedules: which episodes are in them, and which are gone.
///
/// A remote never announces that an episode is cancelled; it is missing where it was. So of each listing
/// (of networks or of web channels, of a country, on a day) the newest answer counts, and what any earlier
/// one had besides is gone from it. Table 0 holds every listing, by its day.
public struct ScheduleListings: Projection {
    /// Makes the projection.
    public init() {}

    /// `schedule-listings`.
    public var name: String { "schedule-listings" }
    /// 1.
    public var version: Int { 1 }
    /// `listing`.
    public var tagKind: String { "listing" }
    /// Sightings of whole listings.
    public var eventTypes: [EventType] { [ScheduleListed.eventType] }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        Of each listing the newest answer counts; what an earlier one had besides is \
        gone.
        """
    }
    /// One: by day.
    public var tables: [String] { ["by-day"] }

    /// What is known of a listing.
    public struct State: ProjectionState, Hashable {
        /// When the newest answer came, in Unix milliseconds.
        var listedAt: Int64 = 0
        /// The episodes in it, sorted.
        var episodes: [Int64] = []
        /// The episodes that earlier answers had and the newest lacks, sorted.
        var gone: [Int64] = []

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws(ModelError) {
            listedAt = try bytes.int64()
            episodes = try bytes.sortedIDs()
            gone = try bytes.sortedIDs()
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(listedAt)
            bytes.add(sortedIDs: episodes)
            bytes.add(sortedIDs: gone)
        }

        /// Takes a newer answer over.
        mutating func take(_ newer: ScheduleListed) {
            gone = Set(gone).union(episodes).subtracting(newer.episodes).sorted()
            episodes = newer.episodes
            listedAt = newer.listedAt.milliseconds
        }
    }

    /// Folds an answer.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.take(try event.decode(ScheduleListed.self).normalized())
    }

    /// A row, by day.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard let day = CalendarDay(key.name.suffix(10)) else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: ScheduleListings.rowKey(day).text(String(key.name)), value: value.bytes)
    }

    /// What the keys of a day's rows begin with.
    static func rowKey(_ day: CalendarDay) -> RowKey { RowKey().ascending(Int64(day.number)) }
}

extension StateWriter {
    /// Adds ids that rise, each as what it adds to the one before.
    fileprivate mutating func add(sortedIDs ids: [Int64]) {
        add(UInt64(ids.count))
        var last: Int64 = 0
        for id in ids {
            add(id &- last)
            last = id
        }
    }
}

extension StateReader {
    fileprivate mutating func sortedIDs() throws(ModelError) -> [Int64] {
        var last: Int64 = 0
        return try array { (reader) throws(ModelError) in
            last = last &+ (try reader.int64())
            return last
        }
    }
}
