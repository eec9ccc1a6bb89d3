internal import TapedeckModel

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
    /// Rows elsewhere that decide of which rows it is made. None by default.
    var basis: [RowRange] { get }
    /// The same where views decide it: asked when `rows(at:)` is, and whenever something in `basis` has changed.
    ///
    /// Rows that were there before keep their entries. Where it throws `.signInRequired` the list is empty,
    /// and `LiveState.failures` says why. By default `rows(at:)`.
    func rows(at now: Int64, from views: Views) throws -> Rows
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

extension LiveArrangement {
    /// None.
    public var basis: [RowRange] { [] }
    /// Those of the time.
    public func rows(at now: Int64, from views: Views) throws -> Rows { rows(at: now) }
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
    private(set) var failures: [LiveFailure] = []

    init(_ arrangement: Arrangement) {
        self.arrangement = arrangement
        rows = LiveRows(arrangement.rows(at: 0))
    }

    var ranges: [RowRange] { rows.ranges + arrangement.basis }
    var projections: [any Projection] {
        rows.projections + arrangement.basis.map(\.projection)
    }
    var systems: [String] { rows.systems }
    var hasMore: Bool { list.hasMore }

    var nextChangeAt: Int64? { [list.nextChangeAt, rows.nextChangeAt].compactMap { $0 }.min() }

    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws {
        let hadMore = rows.hasMore
        let count = rows.ranges.count
        let ofRows = changes.map { Array($0.prefix(count)) }
        if seenAt.map({ now < $0 }) ?? true {
            // Where a clock was put back, entries may be too old.
            isStale = true
            try turn(nil, at: now, views)
        } else if list.nextChangeAt.map({ $0 <= now }) ?? false
            || isOfBasis(changes?.dropFirst(count))
        {
            isStale = true
            try turn(ofRows, at: now, views)
        } else {
            try rows.take(ofRows, at: now, views)
        }
        seenAt = now
        if !rows.told().isEmpty || rows.hasMore != hadMore { isStale = true }
        guard isStale else { return }
        var arranged = arranged(at: now)
        if let time = arranged.nextChangeAt, time <= now {
            // What has just come is one of yesterday's.
            try turn([], at: now, views)
            _ = rows.told()
            arranged = self.arranged(at: now)
        }
        self.changes += LiveChange.changes(
            from: list.entries, to: arranged.entries, by: arrangement.subject(of:))
        list = arranged
        isStale = false
    }

    private func arranged(at now: Int64) -> LiveArranged<Arrangement.Entry> {
        failures.isEmpty
            ? arrangement.arranged(rows.list, hasMore: rows.hasMore, at: now) : LiveArranged([])
    }

    /// - Parameter changes: of the rows as they were; nil where not all of them are known.
    private func turn(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws {
        do {
            let query = try arrangement.rows(at: now, from: views)
            try rows.turn(to: query, changes, at: now, views)
            failures = []
        } catch let error as any CodedError where error.code == .signInRequired {
            try rows.take(changes, at: now, views)
            failures = [LiveFailure(error, retryAt: nil)]
        }
    }

    private func isOfBasis(_ changes: ArraySlice<[RowChange]>?) -> Bool {
        // Where changes are not known, anything may have changed.
        guard let changes else { return !arrangement.basis.isEmpty }
        return zip(arrangement.basis, changes).contains { range, changes in
            changes.contains { $0.keys.contains { range.key(ofChanged: $0) != nil } }
        }
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
