public import TapedeckModel

/// A range of rows in a table, or of the items or states that a projection stores by key.
public struct RowRange: Sendable {
    /// The projection that contains the rows.
    public let projection: any Projection
    /// The index of the table; 255 for items, 254 for states.
    public let table: Int
    /// The lowest key; nil to start at the beginning.
    public let lower: RowKey?
    /// The key at which to stop, exclusive; nil to continue to the end.
    public let upper: RowKey?
    private let kind: Kind
    /// Decides by an item's value whether the item is in the range; nil if the range includes every
    /// item.
    private var isIncluded: (@Sendable ([UInt8]) throws -> Bool)?

    private enum Kind {
        case rows
        /// The items of one key, or of all keys.
        case items((tag: Tag, key: ViewKey)?)
        /// The state of one key.
        case state(tag: Tag, key: ViewKey)
        /// The keys whose states or items change.
        case keys
    }

    /// Creates a range of rows.
    public init(
        of projection: any Projection, table: Int = 0, from lower: RowKey? = nil,
        below upper: RowKey? = nil
    ) {
        (self.projection, self.table) = (projection, table)
        (self.lower, self.upper) = (lower, upper)
        kind = .rows
    }

    /// Creates a range of those items of a key whose names begin with a prefix; the row keys are
    /// the item names.
    ///
    /// The items can be followed if the prefix equals or begins with one of the projection's
    /// `followedItems`.
    ///
    /// - Parameter key: The key; nil for all keys, which is only allowed in `LiveQuery.details`.
    public init(of projection: any Projection, itemsOf key: Tag?, prefix: RowKey) {
        self.init(projection, prefix: prefix, .items(key.map { ($0, ViewKey($0)) }))
    }

    /// Creates a range of those items of a key whose names begin with a prefix and whose values meet
    /// a condition.
    ///
    /// The cost of a page depends on all items that are read, including items that do not meet the
    /// condition.
    package init(
        of projection: any Projection, itemsOf key: Tag, prefix: RowKey,
        where isIncluded: @escaping @Sendable ([UInt8]) throws -> Bool
    ) {
        self.init(of: projection, itemsOf: key, prefix: prefix)
        self.isIncluded = isIncluded
    }

    /// Creates a range for the state of a key: one row with an empty key and value if the key has a
    /// state, otherwise no rows.
    ///
    /// The state can be followed if the projection's `statesAreFollowed` is true.
    public init(of projection: any Projection, stateOf key: Tag) {
        self.init(projection, prefix: nil, .state(tag: key, key: ViewKey(key)))
    }

    /// Creates a range that reports each key of the projection whose state (or, with `prefix`,
    /// whose matching items) changed, for use in `LiveQuery.details`.
    ///
    /// An entry that lists a key of the range in `LiveEntry.keys` is rebuilt when the key's state
    /// or items change.
    ///
    /// - Parameter prefix: The prefix of the item names, as in `init(of:itemsOf:prefix:)`; nil for
    ///   states.
    public init(keysOf projection: any Projection, itemsWith prefix: RowKey? = nil) {
        self.init(projection, prefix: prefix, .keys)
    }

    /// - Parameter prefix: The prefix of the item names; nil for states.
    private init(_ projection: any Projection, prefix: RowKey?, _ kind: Kind) {
        self.projection = projection
        table = prefix == nil ? DiffBatch.statesTable : DiffBatch.itemsTable
        (lower, upper) = (
            prefix, prefix.flatMap { KeyRange.upper(of: $0.bytes) }.map { RowKey($0) }
        )
        self.kind = kind
    }

    /// Whether the range reports keys from which entries can be built.
    var isOfKeys: Bool { if case .keys = kind { true } else { false } }

    /// Returns whether the entire range belongs to the given key.
    func isOf(_ key: ViewKey) -> Bool {
        switch kind {
        case .items(let owner?): owner.key == key
        case .state(_, let owner): owner == key
        case .items(nil), .rows, .keys: false
        }
    }

    /// Returns the row key in this range for a key reported by a commit; nil if that key is outside
    /// this range.
    func key(ofChanged key: [UInt8]) -> [UInt8]? {
        if case .rows = kind { return contains(key) ? key : nil }
        guard let count = ViewKey.count(in: key) else { return nil }
        let name = Array(key.dropFirst(count))
        switch kind {
        case .rows: return nil
        case .items(let owner):
            if let owner, !key.starts(with: owner.key.bytes) { return nil }
            return contains(name) ? name : nil
        case .state(_, let owner): return key == owner.bytes ? [] : nil
        case .keys: return contains(name) ? Array(key.prefix(count)) : nil
        }
    }

    private func contains(_ key: [UInt8]) -> Bool {
        if let lower, key.lexicographicallyPrecedes(lower.bytes) { return false }
        if let upper, !key.lexicographicallyPrecedes(upper.bytes) { return false }
        return true
    }

    /// Returns the rows after a key, in order.
    func rows(after key: [UInt8]?, limit: Int, _ views: Views) throws -> [Row] {
        switch kind {
        case .rows:
            return try views.rows(
                of: projection, table: table, lower: lower, upper: upper, after: key, limit: limit)
        case .items(let owner?):
            return try items(after: key, limit: limit) {
                try views.items(
                    of: projection, key: owner.tag, prefix: lower ?? RowKey(), after: $0,
                    limit: limit)
            }
        case .state: return key == nil && limit > 0 ? try row(at: [], views).map { [$0] } ?? [] : []
        case .items(nil), .keys: return []
        }
    }

    /// Returns whether the range includes an item that has the given value.
    func includes(_ value: [UInt8]) throws -> Bool { try isIncluded?(value) ?? true }

    /// Returns the included items after a key, read page by page.
    private func items(
        after key: [UInt8]?, limit: Int, _ page: ([UInt8]?) throws -> [Row]
    ) throws -> [Row] {
        var (found, place) = ([Row](), key)
        while found.count < limit {
            let rows = try page(place)
            found += try rows.filter { try includes($0.value) }
            guard rows.count == limit, limit > 0 else { break }
            place = rows.last?.key
        }
        return Array(found.prefix(limit))
    }

    /// Returns the row with a key; nil if there is none.
    func row(at key: [UInt8], _ views: Views) throws -> Row? {
        switch kind {
        case .rows:
            let row = try views.rows(
                of: projection, table: table, lower: RowKey(key), upper: nil, after: nil, limit: 1
            ).first
            return row?.key == key ? row : nil
        case .items(let owner?):
            let value = try views.item(of: projection, key: owner.tag, name: RowKey(key))
            return try value.flatMap { try includes($0) ? Row(key: key, value: $0) : nil }
        case .state(let tag, _):
            let state: (any ProjectionState)? = try views.state(of: projection, key: tag)
            return state == nil ? nil : Row(key: [], value: [])
        case .items(nil), .keys: return nil
        }
    }
}
