public import TapedeckModel

/// Reads what projections hold, all as of one log position.
public protocol ViewReader {
    /// The state of one key; nil where no event of the key was folded.
    func state<P: Projection>(of projection: P, key: Tag) throws -> P.State?

    /// One item of a key.
    func item(of projection: some Projection, key: Tag, name: RowKey) throws -> [UInt8]?

    /// A key's items whose names begin with `prefix`, in byte order.
    ///
    /// - Parameters:
    ///   - after: the name of the last item already seen; nil begins at the front.
    ///   - limit: at most so many.
    func items(
        of projection: some Projection, key: Tag, prefix: RowKey, after: [UInt8]?, limit: Int
    ) throws -> [Row]

    /// Rows of the projection's `table`-th table, in byte order.
    ///
    /// - Parameters:
    ///   - range: keys at or above `lower` and below `upper`, where these are given.
    ///   - after: the key of the last row already seen; nil begins at `lower`.
    ///   - limit: at most so many.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int
    ) throws -> [Row]

    /// Rows in byte order of which it is known that all events that made them have one tag.
    ///
    /// The rows are the same; a reader of history folds the keys of the events with that tag instead of all.
    ///
    /// - Parameter tag: such as a show's, whose episodes' events name the show, too.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int, eventsTagged tag: Tag
    ) throws -> [Row]

    /// Rows of the projection's `table`-th table against byte order, the last first.
    ///
    /// - Parameters:
    ///   - range: keys at or above `lower` and below `upper`, where these are given.
    ///   - before: the key of the first row already seen; nil begins below `upper`.
    ///   - limit: at most so many.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?,
        before: [UInt8]?, limit: Int
    ) throws -> [Row]
}

extension ViewReader {
    /// The tag is no help to a reader of tables.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int, eventsTagged tag: Tag
    ) throws -> [Row] {
        try rows(
            of: projection, table: table, lower: lower, upper: upper, after: after, limit: limit)
    }
}

/// A row or an item: its key in the table and what stands there.
public struct Row: Hashable, Sendable {
    /// The key, or the item's name.
    public var key: [UInt8]
    /// What stands there.
    public var value: [UInt8]

    /// Makes a row.
    public init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }
}
