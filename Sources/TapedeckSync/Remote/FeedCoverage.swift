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
