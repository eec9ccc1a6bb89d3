/// A list that is arranged of the rows of another: in an order of its own, summed up, or as the time is.
///
/// The rows are followed as any list's. When some of them have changed, or the time has come that the
/// arrangement named, the list is arranged anew in memory, and what is another is told: the tables are not
/// asked.
public protocol LiveArrangement<Entry>: Sendable {
    /// The list whose rows it is made of.
    associatedtype Rows: LiveQuery
    /// What it is a list of.
    associatedtype Entry: Hashable & Sendable
    /// What an entry is about.
    associatedtype Subject: Hashable

    /// The rows that it is made of at a time, of the same tables at every time.
    ///
    /// Asked at first, and whenever the time has come that an arrangement named, also one that had gone by
    /// then. These are read, and compared with those before.
    ///
    /// - Parameter now: Unix milliseconds.
    func rows(at now: Int64) -> Rows
    /// Arranges rows.
    ///
    /// - Parameters:
    ///   - rows: in their order.
    ///   - hasMore: whether there are more behind the limit of `rows(at:)`.
    ///   - now: Unix milliseconds.
    func arranged(_ rows: [Rows.Entry], hasMore: Bool, at now: Int64) -> LiveArranged<Entry>
    /// What an entry is about; no other entry of the list is about the same.
    func subject(of entry: Entry) -> Subject
}

/// A list as an arrangement makes it.
public struct LiveArranged<Entry: Hashable & Sendable>: Sendable {
    /// The list.
    public var entries: [Entry]
    /// Whether there are entries behind its end.
    public var hasMore: Bool
    /// When it may be another because of the time alone, in Unix milliseconds; nil for never.
    public var nextChangeAt: Int64?

    /// Makes one.
    public init(_ entries: [Entry], hasMore: Bool = false, nextChangeAt: Int64? = nil) {
        (self.entries, self.hasMore, self.nextChangeAt) = (entries, hasMore, nextChangeAt)
    }
}

/// The rows of an arranged list that somebody follows, and the list as it was told last.
final class ArrangedRows<Arrangement: LiveArrangement>: LiveSource {
    private let arrangement: Arrangement
    private let rows: LiveRows<Arrangement.Rows>
    private var list = LiveArranged<Arrangement.Entry>([])
    private var changes: [LiveChange<Arrangement.Entry>] = []
    /// The time of the last look, in Unix milliseconds; nil before the first.
    private var seenAt: Int64?
    /// Whether rows have changed since the list was arranged.
    private var isStale = true

    init(_ arrangement: Arrangement) {
        self.arrangement = arrangement
        rows = LiveRows(arrangement.rows(at: 0))
    }

    var ranges: [RowRange] { rows.ranges }
    var projections: [any Projection] { rows.projections }
    var systems: [String] { rows.systems }
    var hasMore: Bool { list.hasMore }

    var nextChangeAt: Int64? { [list.nextChangeAt, rows.nextChangeAt].compactMap { $0 }.min() }

    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws {
        let hadMore = rows.hasMore
        // Also where a clock was put back.
        if seenAt.map({ now < $0 }) ?? true || list.nextChangeAt.map({ $0 <= now }) ?? false {
            isStale = true
            try rows.turn(to: arrangement.rows(at: now), at: now, views)
        } else {
            try rows.take(changes, at: now, views)
        }
        seenAt = now
        if !rows.told().isEmpty || rows.hasMore != hadMore { isStale = true }
        guard isStale else { return }
        var arranged = arrangement.arranged(rows.list, hasMore: rows.hasMore, at: now)
        if let time = arranged.nextChangeAt, time <= now {
            // What has just come is one of yesterday's.
            try rows.turn(to: arrangement.rows(at: now), at: now, views)
            _ = rows.told()
            arranged = arrangement.arranged(rows.list, hasMore: rows.hasMore, at: now)
        }
        self.changes += LiveChange.changes(
            from: list.entries, to: arranged.entries, by: arrangement.subject(of:))
        list = arranged
        isStale = false
    }

    func shows(_ rows: KeyRows) -> Bool { self.rows.shows(rows) }

    func told() -> [LiveChange<Arrangement.Entry>] {
        defer { changes = [] }
        return changes
    }
}

extension LiveChange {
    /// What leads from one list to another; what keeps its place among the others is not moved.
    static func changes<Subject: Hashable>(
        from old: [Entry], to new: [Entry], by subject: (Entry) -> Subject
    ) -> [LiveChange] {
        guard old != new else { return [] }
        var changes: [LiveChange] = []
        let places = Dictionary(
            new.enumerated().map { (subject($1), $0) }, uniquingKeysWith: { first, _ in first })
        // Where each that is in both stands in the new list, in the order of the old one.
        var order: [Int] = []
        var before: [Int: Entry] = [:]
        for (index, entry) in old.enumerated().reversed() {
            guard let place = places[subject(entry)] else {
                changes.append(.removed(at: index))
                continue
            }
            order.append(place)
            before[place] = entry
        }
        order.reverse()
        var settled = longestRise(order)
        for place in order.filter({ !settled.contains($0) }).sorted() {
            guard let from = order.firstIndex(of: place) else { continue }
            order.remove(at: from)
            let to = order.firstIndex { settled.contains($0) && $0 > place } ?? order.count
            order.insert(place, at: to)
            settled.insert(place)
            changes.append(.moved(from: from, to: to, new[place]))
            before[place] = new[place]
        }
        for (place, entry) in new.enumerated() {
            guard let was = before[place] else {
                changes.append(.inserted(entry, at: place))
                continue
            }
            if was != entry { changes.append(.updated(entry, at: place)) }
        }
        return changes
    }

    /// The most of some different numbers that rise as they stand.
    private static func longestRise(_ numbers: [Int]) -> Set<Int> {
        // Of each length the least number that ends a rise of it, by its index.
        var ends: [Int] = []
        var previous: [Int?] = []
        for (index, number) in numbers.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            previous.append(low > 0 ? ends[low - 1] : nil)
            if low < ends.count { ends[low] = index } else { ends.append(index) }
        }
        var found: Set<Int> = []
        var next = ends.last
        while let index = next {
            found.insert(numbers[index])
            next = previous[index]
        }
        return found
    }
}
