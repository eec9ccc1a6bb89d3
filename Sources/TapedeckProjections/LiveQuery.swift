public import TapedeckModel

/// A list that can be followed: the first rows of some ranges, each made into an entry.
///
/// The list is read once. From then on commits tell which rows they changed, and only their entries are made
/// anew; see `ProjectionRunner.live`.
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
    /// What a row is made into.
    associatedtype Entry: Hashable & Sendable

    /// The rows of the list; at most 32 ranges.
    var lists: [RowRange] { get }
    /// In what order the ranges' rows stand. One range behind another by default.
    var order: LiveOrder { get }
    /// Rows elsewhere that entries are made of, too. Empty by default.
    var details: [RowRange] { get }
    /// Projections that `entry` reads beside those of `lists` and `details`. None by default.
    var others: [any Projection] { get }
    /// How many rows at the most, from the front.
    var limit: Int { get }
    /// The systems of the remotes whose sightings it shows; none by default.
    ///
    /// While such a remote is waited for, `LiveState.failures` says why.
    var systems: [String] { get }

    /// What a row of the `list`-th of the `lists` is about. No other row of the lists is about the same.
    func subject(ofListed key: [UInt8], in list: Int) -> [UInt8]
    /// What a row of the `index`-th of the `details` is about; nil where it may be about every entry.
    func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]?
    /// Makes the entry of a row.
    ///
    /// - Parameters:
    ///   - list: which of the `lists` it is of.
    ///   - now: Unix milliseconds.
    ///   - views: as of the commit that is told of.
    func entry(
        _ row: Row, in list: Int, at now: Int64, from views: Views
    ) throws -> LiveEntry<Entry>
}

/// In what order the rows of several ranges stand.
public enum LiveOrder: Hashable, Sendable {
    /// Those of the first range in front, then those of the next.
    case oneBehindAnother
    /// By their keys without so many bytes in front, which are the same in all keys of a range.
    case merged(behind: Int)
}

extension LiveQuery {
    /// One range behind another.
    public var order: LiveOrder { .oneBehindAnother }
    /// None.
    public var details: [RowRange] { [] }
    /// None.
    public var others: [any Projection] { [] }
    /// None.
    public var systems: [String] { [] }
    /// Every entry.
    public func subject(ofDetail key: [UInt8], in index: Int) -> [UInt8]? { nil }

    /// Everything that has to be up to date for an entry.
    public var projections: [any Projection] {
        (lists + details).map(\.projection) + others
    }
}

/// An entry, how long it is right if nothing happens, and what else it is made of.
public struct LiveEntry<Entry: Hashable & Sendable>: Sendable {
    /// The entry.
    public var entry: Entry
    /// When it is another because of the time alone, in Unix milliseconds; nil for never.
    public var nextChangeAt: Int64?
    /// The keys that it is made of, as far as details name keys (`RowRange.init(keysOf:itemsWith:)`).
    public var keys: [Tag]

    /// Makes one.
    public init(_ entry: Entry, nextChangeAt: Int64? = nil, keys: [Tag] = []) {
        (self.entry, self.nextChangeAt, self.keys) = (entry, nextChangeAt, keys)
    }
}

/// A change of a list; indexes are those at its turn, behind the changes before it.
public enum LiveChange<Entry: Hashable & Sendable>: Hashable, Sendable {
    /// An entry that is no longer there.
    case removed(at: Int)
    /// An entry that was not there.
    case inserted(Entry, at: Int)
    /// An entry that stands elsewhere, perhaps changed: taken out at `from`, and then put in at `to`.
    case moved(from: Int, to: Int, Entry)
    /// An entry that is another at its place.
    case updated(Entry, at: Int)
}

/// What happened to a list since it was last told of.
public struct LiveUpdate<Entry: Hashable & Sendable>: Hashable, Sendable {
    /// The changes in order; the first update of all inserts what is there.
    public var changes: [LiveChange<Entry>]
    /// Whether there are rows behind the `limit`.
    public var hasMore: Bool
    /// When an entry is another because of the time alone, in Unix milliseconds; it is told of then.
    public var nextChangeAt: Int64?
    /// What is to be known of the list beside its entries, as of now.
    public var state = LiveState()

    /// Makes the changes of `list`, in order.
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
