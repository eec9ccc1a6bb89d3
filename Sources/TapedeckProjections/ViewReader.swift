public import TapedeckModel

/// A reader of projections that are all at the same log position.
public protocol ViewReader {
    /// The origin of the events that this store records; nil if it is unknown.
    var device: OriginID? { get }

    /// Returns the state of a key; nil if the key has no events.
    func state<P: Projection>(of projection: P, key: Tag) throws -> P.State?

    /// Calls `body` for each key that has events, in the order of the keys, with the index of the
    /// key and a reader of its state.
    ///
    /// Faster than `state(of:key:)` for each key, because `body` decodes each state where it is
    /// used, and no state is stored or copied. If `body` throws an error that is not a
    /// `ProjectionError`, the state is reported as damaged.
    func forEachState(
        of projection: some Projection, keys: [Tag],
        _ body: (_ index: Int, _ state: inout StateReader) throws -> Void
    ) throws

    /// Returns one item of a key; nil if there is none.
    func item(of projection: some Projection, key: Tag, name: RowKey) throws -> [UInt8]?

    /// Returns those items of a key whose names begin with `prefix`, in byte order.
    ///
    /// - Parameters:
    ///   - after: The name of the last item already read; nil to start at the beginning.
    ///   - limit: The maximum number of items.
    func items(
        of projection: some Projection, key: Tag, prefix: RowKey, after: [UInt8]?, limit: Int
    ) throws -> [Row]

    /// Returns rows of the projection's table at index `table`, in byte order.
    ///
    /// - Parameters:
    ///   - lower: The lowest key; nil to start at the beginning.
    ///   - upper: The key at which to stop, exclusive; nil to continue to the end.
    ///   - after: The key of the last row already read; nil to start at `lower`.
    ///   - limit: The maximum number of rows.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int
    ) throws -> [Row]

    /// Returns rows in byte order; the caller guarantees that all events of these rows have the tag
    /// `tag`.
    ///
    /// The result is the same as without the tag. A reader of a past state can use the tag to fold
    /// only the keys of events that have the tag.
    ///
    /// - Parameter tag: The shared tag; for example, the events of a show's episodes also have the
    ///   tag of the show.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int, eventsTagged tag: Tag
    ) throws -> [Row]

    /// Returns rows of the projection's table at index `table`, in reverse byte order.
    ///
    /// - Parameters:
    ///   - lower: The lowest key, inclusive; nil to continue to the beginning.
    ///   - upper: The key below which to start; nil to start at the end.
    ///   - before: The key of the last row already read; nil to start below `upper`.
    ///   - limit: The maximum number of rows.
    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?,
        before: [UInt8]?, limit: Int
    ) throws -> [Row]
}

extension ViewReader {
    /// Nil.
    public var device: OriginID? { nil }

    /// Reads the states with `state(of:key:)`, and encodes each of them for `body`.
    public func forEachState(
        of projection: some Projection, keys: [Tag],
        _ body: (_ index: Int, _ state: inout StateReader) throws -> Void
    ) throws {
        for (index, key) in keys.enumerated() {
            guard let state = try state(of: projection, key: key) else { continue }
            var writer = StateWriter()
            state.encode(into: &writer)
            try writer.bytes.withUnsafeBytes { bytes in
                var reader = StateReader(bytes)
                try body(index, &reader)
            }
        }
    }

    /// The former way to read several states, which copies each of them.
    @available(*, deprecated, message: "decode each state in forEachState(of:keys:_:)")
    public func states<P: Projection>(of projection: P, keys: [Tag]) throws -> [P.State?] {
        try keys.map { try state(of: projection, key: $0) }
    }

    /// Returns the rows of a table; the parameter `tag` is not used.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int, eventsTagged tag: Tag
    ) throws -> [Row] {
        try rows(
            of: projection, table: table, lower: lower, upper: upper, after: after, limit: limit)
    }
}

/// A row or an item: its key in the table and its value.
public struct Row: Hashable, Sendable {
    /// The key of the row, or the name of the item.
    public var key: [UInt8]
    /// The value.
    public var value: [UInt8]

    /// Creates a row.
    public init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }
}
