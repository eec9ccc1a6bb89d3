package import TapedeckModel

/// A list in an order that follows from what its entries are, such as how well they match.
///
/// Its entries are made of states and items. Those of what a commit has changed are looked up, and nothing else
/// is; only what comes up from behind the last is read.
package protocol LiveRanking<Entry>: Sendable {
    /// What it is a list of.
    associatedtype Entry: Hashable & Sendable
    /// Where an entry stands.
    associatedtype Place: Comparable

    /// Whose states and items it is made of; see `Projection.statesAreFollowed` and `followedItems`.
    var projections: [any Projection] { get }
    /// The systems of the remotes whose sightings it shows.
    var systems: [String] { get }
    /// How many entries at the most, from the front.
    var limit: Int { get }

    /// Of what the entries may be others where some parts have changed; nil where the list is to be read anew.
    func parts(touchedBy changed: Set<LivePart>, _ views: Views) throws -> Set<LivePart>?
    /// The entries of a part.
    func entries(of part: LivePart, _ views: Views) throws -> [LiveRanked<Place, Entry>]
    /// The entries behind a place, in their order.
    func entries(
        after place: Place?, limit: Int, _ views: Views
    ) throws -> [LiveRanked<Place, Entry>]
    /// What an entry is about; no other one is about the same.
    func subject(of entry: Entry) -> [String?]
}

/// A part of what a ranked list is made of: the state of a key, or one of its items.
package struct LivePart: Hashable, Sendable {
    /// Which of the `projections`.
    package var index: Int
    package var key: Tag
    /// Nil where it is the state.
    package var item: [UInt8]?

    package init(_ index: Int, _ key: Tag, item: [UInt8]? = nil) {
        (self.index, self.key, self.item) = (index, key, item)
    }
}

/// An entry of a ranked list: where it stands, and what it is made of.
package struct LiveRanked<Place: Comparable, Entry> {
    package let place: Place
    package let part: LivePart
    package let entry: Entry

    package init(_ place: Place, _ part: LivePart, _ entry: Entry) {
        (self.place, self.part, self.entry) = (place, part, entry)
    }
}

/// The entries of a ranked list that somebody follows, as they were told last.
final class RankedRows<Ranking: LiveRanking>: LiveSource {
    typealias Entry = Ranking.Entry
    private typealias Ranked = LiveRanked<Ranking.Place, Entry>

    private let ranking: Ranking
    /// Of each projection its states, then its items.
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
            // What stands behind the last is read when it comes up.
            guard !hasMore || list.last.map({ ranked.place < $0.place }) ?? false else { continue }
            kept.insert(ranked, at: kept.firstIndex { ranked.place < $0.place } ?? kept.count)
        }
        guard hasMore else { return tell((kept, false)) }
        tell(try read(behind: kept, views))
    }

    func told() -> [LiveChange<Entry>] {
        defer { changes = [] }
        return changes
    }

    func shows(_ rows: KeyRows) -> Bool {
        list.contains { ranked in
            ProjectionDriver.fingerprint(of: projections[ranked.part.index]) == rows.projection
                && ViewKey(ranked.part.key) == rows.key
        }
    }

    /// What has changed; nil where the changes do not say it of some key.
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

    /// Goes on behind some entries up to the limit.
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
