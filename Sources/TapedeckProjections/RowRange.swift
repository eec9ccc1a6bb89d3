public import TapedeckModel

/// A part of a table, its rows from a key on and below another; or a part of the items of a projection.
public struct RowRange: Sendable {
    /// Whose rows these are.
    public let projection: any Projection
    /// Which of its tables; 255 where they are items.
    public let table: Int
    /// Where it begins; nil for the front.
    public let lower: RowKey?
    /// Where it ends, itself not in it; nil for the end.
    public let upper: RowKey?
    /// Whose items they are; nil for all keys'.
    private let owner: (tag: Tag, key: ViewKey)?

    /// Names rows.
    public init(
        of projection: any Projection, table: Int = 0, from lower: RowKey? = nil,
        below upper: RowKey? = nil
    ) {
        (self.projection, self.table) = (projection, table)
        (self.lower, self.upper) = (lower, upper)
        owner = nil
    }

    /// Names the items of a key whose names begin with a prefix; a row's key is then the item's name.
    ///
    /// They can be followed where the prefix is one of the projection's `followedItems`, or longer.
    ///
    /// - Parameter key: whose items; nil for those of all keys, as only `LiveQuery.details` may be.
    public init(of projection: any Projection, itemsOf key: Tag?, prefix: RowKey) {
        (self.projection, table) = (projection, DiffBatch.itemsTable)
        (lower, upper) = (prefix, KeyRange.upper(of: prefix.bytes).map { RowKey($0) })
        owner = key.map { ($0, ViewKey($0)) }
    }

    private var isOfItems: Bool { table == DiffBatch.itemsTable }

    /// The key of a row that a commit has changed; nil where it is not one of these.
    func key(ofChanged key: [UInt8]) -> [UInt8]? {
        guard isOfItems else { return contains(key) ? key : nil }
        guard let count = ViewKey.count(in: key) else { return nil }
        if let owner, !key.starts(with: owner.key.bytes) { return nil }
        let name = Array(key.dropFirst(count))
        return contains(name) ? name : nil
    }

    private func contains(_ key: [UInt8]) -> Bool {
        if let lower, key.lexicographicallyPrecedes(lower.bytes) { return false }
        if let upper, !key.lexicographicallyPrecedes(upper.bytes) { return false }
        return true
    }

    /// The rows behind a key, in their order.
    func rows(after key: [UInt8]?, limit: Int, _ views: Views) throws -> [Row] {
        guard isOfItems else {
            return try views.rows(
                of: projection, table: table, lower: lower, upper: upper, after: key, limit: limit)
        }
        guard let owner else { return [] }
        return try views.items(
            of: projection, key: owner.tag, prefix: lower ?? RowKey(), after: key, limit: limit)
    }

    /// The row of a key; nil where there is none.
    func row(at key: [UInt8], _ views: Views) throws -> Row? {
        guard isOfItems else {
            let row = try views.rows(
                of: projection, table: table, lower: RowKey(key), upper: nil, after: nil, limit: 1
            ).first
            return row?.key == key ? row : nil
        }
        guard let owner else { return nil }
        return try views.item(of: projection, key: owner.tag, name: RowKey(key)).map {
            Row(key: key, value: $0)
        }
    }
}
