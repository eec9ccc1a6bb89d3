internal import TapedeckLog
public import TapedeckModel
public import TapedeckProjections

/// The parts of remotes' feeds that any device of the user has read.
///
/// The observations in the log do not show whether a feed was read to its end: a device that fails
/// halfway has already recorded the first half. Coverage is therefore recorded as an event, with a
/// mark that shows how far the feed was read. If a mark is outdated, some rows are read again, but
/// nothing is lost.
public struct FeedCoverage: Projection {
    static let kind = "feed"

    /// Creates the projection.
    public init() {}

    /// `feed-coverage`.
    public var name: String { "feed-coverage" }
    /// 1.
    public var version: Int { 1 }
    /// `feed`.
    public var tagKind: String { FeedCoverage.kind }
    /// `FeedRead`, which records that a feed was read.
    public var eventTypes: [EventType] { [FeedRead.eventType] }
    /// A sentence that explains how the mark of a feed is determined.
    public var ruleText: String? { "The last event about a feed determines its mark." }
    /// No tables, because marks are looked up by feed.
    public var tables: [String] { [] }
    /// True, because only the last event about a feed affects its state.
    public var foldsCompacted: Bool { true }

    /// The state of a feed.
    public struct State: ProjectionState, Equatable {
        /// The mark or version that was read; nil if the feed was never read to its end.
        var mark: String?

        /// Creates the state of a feed that was never read.
        public init() {}

        /// Reads the bytes of a state.
        public init(decoding bytes: inout StateReader) throws(ModelError) {
            mark = try bytes.optionalString()
        }

        /// Writes the bytes of the state.
        public func encode(into bytes: inout StateWriter) { bytes.add(mark) }
    }

    /// Folds a `FeedRead` event.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        key.state.mark = try event.decode(FeedRead.self).mark
    }

    /// Adds no rows.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {}

    /// Returns the tag of a feed, which also depends on the remote and the account.
    static func tag(_ feed: String, of remote: Remote, _ account: RemoteAccount) throws -> Tag {
        var bytes: [UInt8] = []
        for part in [remote.system, remote.url, account.user, feed] { bytes.appendPrefixed(part) }
        return try Tag(kind, Digest16(hashing: bytes).text)
    }
}

/// The mark of a feed whose links report only the number of its entries.
///
/// The number does not identify a list: if one entry is removed and another is added, it stays the
/// same. It may also be older than the list that was read. The mark therefore contains the number of
/// entries that the store showed after the reading, and the time of the reading. Earlier versions of
/// this program recorded only the number that was reported.
struct CountMark: Hashable {
    /// The number of entries that the link reported.
    var count: Int
    /// The number of entries that the store showed after the list was read.
    var shown: Int
    /// The time of the reading, in milliseconds since 1970 on the remote's clock; nil if the list
    /// must be read once more, because the reading did not explain the reported number.
    var readAt: Int64?

    init(count: Int, shown: Int) { (self.count, self.shown) = (count, shown) }

    /// Parses a mark; nil if it is a mark of another kind.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, let count = Int(parts[0]),
            let shown = Int(parts[1])
        else { return nil }
        self.init(count: count, shown: shown)
        readAt = parts.count == 3 ? Int64(parts[2]).flatMap { $0 < 0 ? nil : $0 } : nil
    }

    /// `count/shown/readAt`, or `count/shown` without a time.
    var text: String { "\(count)/\(shown)" + (readAt.map { "/\($0)" } ?? "") }

    /// Returns whether the list was read in the given period before a time on the remote's clock,
    /// both in milliseconds.
    ///
    /// If the remote's clock was set back, the time of the reading is unknown.
    func isRecent(_ period: Int64, at time: Int64) -> Bool {
        readAt.map { abs(time - $0) < period } ?? false
    }
}
