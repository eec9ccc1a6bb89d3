public import TapedeckModel

/// A part of a table, its rows from a key on and below another; or a part of what a projection keeps by key.
public struct RowRange: Sendable {
    /// Whose rows these are.
    public let projection: any Projection
    /// Which of its tables; 255 where they are items, 254 where they are states.
    public let table: Int
    /// Where it begins; nil for the front.
    public let lower: RowKey?
    /// Where it ends, itself not in it; nil for the end.
    public let upper: RowKey?
    private let kind: Kind

    private enum Kind {
        case rows
        /// Of one key, or of all keys.
        case items((tag: Tag, key: ViewKey)?)
        /// Of one key.
        case state(tag: Tag, key: ViewKey)
        /// The keys themselves, of which states or items change.
        case keys
    }

    /// Names rows.
    public init(
        of projection: any Projection, table: Int = 0, from lower: RowKey? = nil,
        below upper: RowKey? = nil
    ) {
        (self.projection, self.table) = (projection, table)
        (self.lower, self.upper) = (lower, upper)
        kind = .rows
    }

    /// Names the items of a key whose names begin with a prefix; a row's key is then the item's name.
    ///
    /// They can be followed where the prefix is one of the projection's `followedItems`, or longer.
    ///
    /// - Parameter key: whose items; nil for those of all keys, as only `LiveQuery.details` may be.
    public init(of projection: any Projection, itemsOf key: Tag?, prefix: RowKey) {
        self.init(projection, prefix: prefix, .items(key.map { ($0, ViewKey($0)) }))
    }

    /// Names the state of a key: one row, with an empty key and an empty value, while there is one.
    ///
    /// It can be followed where the projection's `statesAreFollowed` say so.
    public init(of projection: any Projection, stateOf key: Tag) {
        self.init(projection, prefix: nil, .state(tag: key, key: ViewKey(key)))
    }

    /// Names keys whose states change, or whose items do that begin with a prefix; for `LiveQuery.details`.
    ///
    /// An entry that is made of such a key (`LiveEntry.keys`) is made anew with it.
    ///
    /// - Parameter prefix: of the items, as in `init(of:itemsOf:prefix:)`; nil for the states.
    public init(keysOf projection: any Projection, itemsWith prefix: RowKey? = nil) {
        self.init(projection, prefix: prefix, .keys)
    }

    /// - Parameter prefix: of items; nil for states.
    private init(_ projection: any Projection, prefix: RowKey?, _ kind: Kind) {
        self.projection = projection
        table = prefix == nil ? DiffBatch.statesTable : DiffBatch.itemsTable
        (lower, upper) = (
            prefix, prefix.flatMap { KeyRange.upper(of: $0.bytes) }.map { RowKey($0) }
        )
        self.kind = kind
    }

    /// Whether what changes are keys that entries may be made of.
    var isOfKeys: Bool { if case .keys = kind { true } else { false } }

    /// Whether all of it is one key's, and that is the one.
    func isOf(_ key: ViewKey) -> Bool {
        switch kind {
        case .items(let owner?): owner.key == key
        case .state(_, let owner): owner == key
        case .items(nil), .rows, .keys: false
        }
    }

    /// The key of a row that a commit has changed; nil where it is not one of these.
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

    /// The rows behind a key, in their order.
    func rows(after key: [UInt8]?, limit: Int, _ views: Views) throws -> [Row] {
        switch kind {
        case .rows:
            return try views.rows(
                of: projection, table: table, lower: lower, upper: upper, after: key, limit: limit)
        case .items(let owner?):
            return try views.items(
                of: projection, key: owner.tag, prefix: lower ?? RowKey(), after: key, limit: limit)
        case .state: return key == nil && limit > 0 ? try row(at: [], views).map { [$0] } ?? [] : []
        case .items(nil), .keys: return []
        }
    }

    /// The row of a key; nil where there is none.
    func row(at key: [UInt8], _ views: Views) throws -> Row? {
        switch kind {
        case .rows:
            let row = try views.rows(
                of: projection, table: table, lower: RowKey(key), upper: nil, after: nil, limit: 1
            ).first
            return row?.key == key ? row : nil
        case .items(let owner?):
            return try views.item(of: projection, key: owner.tag, name: RowKey(key)).map {
                Row(key: key, value: $0)
            }
        case .state(let tag, _):
            let state: (any ProjectionState)? = try views.state(of: projection, key: tag)
            return state == nil ? nil : Row(key: [], value: [])
        case .items(nil), .keys: return nil
        }
    }
}
