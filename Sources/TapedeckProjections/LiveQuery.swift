public import TapedeckModel

/// A query for a live list, which reads the first rows of one or more ranges and turns each row
/// into an entry.
///
/// The list is read once. After the first read, each commit reports the rows that it changed, and
/// only the entries of these rows are rebuilt; see `ProjectionRunner.live`.
///
/// ```swift
/// struct Shelf: LiveQuery {
///     let lists = [RowRange(of: Books())]
///     let limit = 50
///     func subject(ofListed key: [UInt8], in list: Int) -> [UInt8] { Array(key.dropFirst(8)) }
///     func entry(
///         _ row: Row, in list: Int, at now: Int64, from views: Views
///     ) throws -> LiveEntry<Book> {
///         LiveEntry(try Book(row.value))
///     }
/// }
/// ```
public protocol LiveQuery<Entry>: Sendable {
    /// The type of the entries.
    associatedtype Entry: Hashable & Sendable

    /// The ranges of rows in the list, at most 32.
    var lists: [RowRange] { get }
    /// The order of rows from different ranges; by default, one range follows another.
    var order: LiveOrder { get }
    /// The other rows from which entries are built; empty by default.
    var details: [RowRange] { get }
    /// The projections that `entry` reads besides those of `lists` and `details`; empty by default.
    var dependencies: [any Projection] { get }
    /// The former name of `dependencies`; queries that still implement it work as before.
    var others: [any Projection] { get }
    /// The maximum number of rows in the list.
    var limit: Int { get }
    /// The systems of the remotes whose observations the list shows; empty by default.
    ///
    /// While the store waits for a remote of one of these systems, `LiveState.failures` contains
    /// the reason.
    var systems: [String] { get }

    /// Returns the identity of a row in the range at index `list` of `lists`; it must be unique
    /// across the lists.
    func subject(ofListed key: [UInt8], in list: Int) -> [UInt8]
    /// Returns the identity that a row in the range at index `index` of `details` affects; nil if
    /// it may affect every entry.
    func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]?
    /// Builds the entry of a row.
    ///
    /// - Parameters:
    ///   - list: The index in `lists` of the range that contains the row.
    ///   - now: The time in milliseconds since 1970.
    ///   - views: The views at the commit being reported.
    func entry(
        _ row: Row, in list: Int, at now: Int64, from views: Views
    ) throws -> LiveEntry<Entry>
}

/// The order of rows from several ranges.
public enum LiveOrder: Hashable, Sendable {
    /// All rows of the first range, then all rows of the next range, and so on.
    case concatenated
    /// By key, ignoring the given number of leading bytes, which are the same for all keys of a
    /// range.
    case merged(prefixCount: Int)

    /// The former name of `concatenated`.
    @available(*, deprecated, renamed: "concatenated")
    public static var oneBehindAnother: LiveOrder { .concatenated }

    /// The former name of `merged(prefixCount:)`.
    @available(*, deprecated, renamed: "merged(prefixCount:)")
    public static func merged(behind count: Int) -> LiveOrder { .merged(prefixCount: count) }
}

extension LiveQuery {
    /// `LiveOrder.concatenated`.
    public var order: LiveOrder { .concatenated }
    /// Empty.
    public var details: [RowRange] { [] }
    /// By default, the value of `others`, which is the former name of this property.
    public var dependencies: [any Projection] { others }
    /// Empty.
    public var others: [any Projection] { [] }
    /// Empty.
    public var systems: [String] { [] }
    /// Returns nil: the row may affect every entry.
    public func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? { nil }

    /// The projections that must be up to date to build an entry.
    public var projections: [any Projection] {
        (lists + details).map(\.projection) + dependencies
    }
}

/// An entry, the time of its next change, and the keys from which it is built.
public struct LiveEntry<Entry: Hashable & Sendable>: Sendable {
    /// The entry.
    public var entry: Entry
    /// The time at which the entry changes without new events, in milliseconds since 1970; nil for
    /// never.
    public var nextChangeAt: Int64?
    /// The keys from which the entry is built.
    ///
    /// When one of these keys changes, the entry is rebuilt if the key is in a range created by
    /// `RowRange.init(keysOf:itemsWith:)`.
    public var keys: [Tag]

    /// Creates an entry.
    public init(_ entry: Entry, nextChangeAt: Int64? = nil, keys: [Tag] = []) {
        (self.entry, self.nextChangeAt, self.keys) = (entry, nextChangeAt, keys)
    }
}

/// A change to a list; indexes refer to the list after all previous changes have been applied.
public enum LiveChange<Entry: Hashable & Sendable>: Hashable, Sendable {
    /// An entry was removed.
    case removed(at: Int)
    /// An entry was inserted.
    case inserted(Entry, at: Int)
    /// An entry moved and possibly changed: remove it at `from`, then insert it at `to`.
    case moved(from: Int, to: Int, Entry)
    /// An entry changed in place.
    case updated(Entry, at: Int)
}

/// The changes to a list since the last update.
public struct LiveUpdate<Entry: Hashable & Sendable>: Hashable, Sendable {
    /// The changes in order; the first update inserts all entries.
    public var changes: [LiveChange<Entry>]
    /// Whether there are more rows than `limit`.
    public var hasMore: Bool
    /// The time at which an entry changes without new events, in milliseconds since 1970; nil for
    /// never.
    ///
    /// At `nextChangeAt`, another update follows.
    public var nextChangeAt: Int64?
    /// The state of the list apart from its entries, at the time of the update.
    public var state = LiveState()

    /// Applies the changes to `list`, in order.
    public func apply(to list: inout [Entry]) {
        for change in changes {
            switch change {
            case .removed(let at): list.remove(at: at)
            case .inserted(let entry, let at): list.insert(entry, at: at)
            case .moved(let from, let to, let entry):
                list.remove(at: from)
                list.insert(entry, at: to)
            case .updated(let entry, let at): list[at] = entry
            }
        }
    }
}
