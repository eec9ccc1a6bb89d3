public import TapedeckModel
public import TapedeckProjections

/// The daily schedule listings, with the episodes in each and the episodes removed from it.
///
/// A listing covers the networks or the web channels of one country on one day. Remotes never
/// announce that an episode is cancelled; the episode is simply missing from the listing. Only the
/// newest response for each listing is therefore used, and episodes that only earlier responses
/// contain are treated as removed. Table 0 contains all listings by day.
public struct ScheduleListings: Projection {
    /// Creates the projection.
    public init() {}

    /// `schedule-listings`.
    public var name: String { "schedule-listings" }
    /// 1.
    public var version: Int { 1 }
    /// `listing`.
    public var tagKind: String { "listing" }
    /// Observations of complete listings.
    public var eventTypes: [EventType] { [ScheduleListed.eventType] }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        Only the newest response for each listing is used; episodes that only earlier \
        responses contain are treated as removed.
        """
    }
    /// One table: by day.
    public var tables: [String] { ["by-day"] }

    /// The known facts about a listing.
    public struct State: ProjectionState, Hashable {
        /// The time of the newest response, in Unix milliseconds.
        var listedAt: Int64 = 0
        /// The episodes in the newest response, sorted.
        var episodes: [Int64] = []
        /// The episodes that earlier responses contained but the newest one does not, sorted.
        var gone: [Int64] = []

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws(ModelError) {
            listedAt = try bytes.int64()
            episodes = try bytes.sortedIDs()
            gone = try bytes.sortedIDs()
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(listedAt)
            bytes.add(sortedIDs: episodes)
            bytes.add(sortedIDs: gone)
        }

        /// Replaces the listing with a newer response.
        mutating func take(_ newer: ScheduleListed) {
            gone = Set(gone).union(episodes).subtracting(newer.episodes).sorted()
            episodes = newer.episodes
            listedAt = newer.listedAt.milliseconds
        }
    }

    /// Folds a response.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.take(try event.decode(ScheduleListed.self).normalized())
    }

    /// Adds a row that sorts by day.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard let day = CalendarDay(key.name.suffix(10)) else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: ScheduleListings.rowKey(day).text(String(key.name)), value: value.bytes)
    }

    /// Returns the key prefix of a day's rows.
    static func rowKey(_ day: CalendarDay) -> RowKey { RowKey().ascending(Int64(day.number)) }
}

extension StateWriter {
    /// Adds ids in ascending order, each as the difference from the previous id.
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
