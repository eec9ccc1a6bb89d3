package import TapedeckModel

/// A list ordered by a property of its entries, such as the quality of a match.
///
/// Entries are built from states and items. Only entries affected by a commit are looked up again.
/// Other entries are read only when they move up from beyond the limit.
package protocol LiveRanking<Entry>: Sendable {
    /// The type of the entries.
    associatedtype Entry: Hashable & Sendable
    /// The position of an entry in the order.
    associatedtype Place: Comparable

    /// The projections whose states and items the list uses; see `Projection.statesAreFollowed` and
    /// `followedItems`.
    var projections: [any Projection] { get }
    /// The systems of the remotes whose observations the list shows.
    var systems: [String] { get }
    /// The maximum number of entries in the list.
    var limit: Int { get }

    /// Returns the parts whose entries may change when the given parts have changed; nil if the
    /// entire list must be read again.
    func parts(touchedBy changed: Set<LivePart>, _ views: Views) throws -> Set<LivePart>?
    /// Returns the entries of a part.
    func entries(of part: LivePart, _ views: Views) throws -> [LiveRanked<Place, Entry>]
    /// Returns the entries after a position, in order.
    func entries(
        after place: Place?, limit: Int, _ views: Views
    ) throws -> [LiveRanked<Place, Entry>]
    /// Returns the identity of an entry, which must be unique in the list.
    func subject(of entry: Entry) -> [String?]
}

/// A part from which a ranked list is built: the state of a key, or one of its items.
package struct LivePart: Hashable, Sendable {
    /// The index of the projection in `projections`.
    package var index: Int
    package var key: Tag
    /// The name of the item; nil for the state.
    package var item: [UInt8]?

    package init(_ index: Int, _ key: Tag, item: [UInt8]? = nil) {
        (self.index, self.key, self.item) = (index, key, item)
    }
}

/// An entry of a ranked list, with its position and the part from which it is built.
package struct LiveRanked<Place: Comparable, Entry> {
    package let place: Place
    package let part: LivePart
    package let entry: Entry

    package init(_ place: Place, _ part: LivePart, _ entry: Entry) {
        (self.place, self.part, self.entry) = (place, part, entry)
    }
}

/// The last reported entries of a ranked list that is being followed.
final class RankedRows<Ranking: LiveRanking>: LiveSource {
    typealias Entry = Ranking.Entry
    private typealias Ranked = LiveRanked<Ranking.Place, Entry>

    private let ranking: Ranking
    /// For each projection, the range of its states and the range of its items.
    let ranges: [RowRange]
    private var list: [Ranked] = []
    private(set) var hasMore = false
    private var changes: [LiveChange<Entry>] = []

    init(_ ranking: Ranking) {
        self.ranking = ranking
        ranges = ranking.projections.flatMap {
            [RowRange(keysOf: $0), RowRange(keysOf: $0, itemsWith: RowKey())]
        }
    }

    var projections: [any Projection] { ranking.projections }
    var systems: [String] { ranking.systems }
    var nextChangeAt: Int64? { nil }

    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws {
        guard let changed = changes.flatMap(parts),
            let touched = changed.isEmpty ? [] : try ranking.parts(touchedBy: changed, views)
        else { return tell(try read(behind: [], views)) }
        guard !touched.isEmpty else { return }
        var kept = list.filter { !touched.contains($0.part) }
        for ranked in try touched.flatMap({ try ranking.entries(of: $0, views) }) {
            // Entries beyond the limit are read when they move up.
            guard !hasMore || list.last.map({ ranked.place < $0.place }) ?? false else { continue }
            kept.insert(ranked, at: kept.firstIndex { ranked.place < $0.place } ?? kept.count)
        }
        guard hasMore else { return tell((kept, false)) }
        tell(try read(behind: kept, views))
    }

    func takeChanges() -> [LiveChange<Entry>] {
        defer { changes = [] }
        return changes
    }

    func shows(_ rows: KeyRows) -> Bool {
        list.contains { ranked in
            ProjectionDriver.fingerprint(of: projections[ranked.part.index]) == rows.projection
                && ViewKey(ranked.part.key) == rows.key
        }
    }

    /// Returns the changed parts; nil if a changed key cannot be identified.
    private func parts(_ changes: [[RowChange]]) -> Set<LivePart>? {
        var found: Set<LivePart> = []
        for (index, changes) in changes.enumerated() {
            for key in changes.lazy.flatMap(\.keys) {
                guard let count = ViewKey.count(in: key), let tag = ViewKey.tag(in: key) else {
                    return nil
                }
                let item = index % 2 == 0 ? nil : Array(key[count...])
                found.insert(LivePart(index / 2, tag, item: item))
            }
        }
        return found
    }

    /// Reads the entries after `front`, up to the limit.
    private func read(
        behind front: [Ranked], _ views: Views
    ) throws -> (list: [Ranked], hasMore: Bool) {
        let wanted = max(0, ranking.limit - front.count)
        let rest = try ranking.entries(after: front.last?.place, limit: wanted + 1, views)
        return (front + rest.prefix(wanted), rest.count > wanted)
    }

    private func tell(_ new: (list: [Ranked], hasMore: Bool)) {
        let isCut = new.list.count > ranking.limit
        let told = Array(new.list.prefix(ranking.limit))
        changes += LiveChange.changes(
            from: list.map(\.entry), to: told.map(\.entry), by: ranking.subject(of:))
        (list, hasMore) = (told, new.hasMore || isCut)
    }
}
