internal import TapedeckModel

/// A list derived from the rows of another list, for example in a different order, aggregated, or
/// dependent on the time.
///
/// The rows are followed as in any live list. When rows change, or at the `nextChangeAt` of the
/// last result, the list is arranged again in memory without reading the tables, and the
/// differences are reported.
public protocol LiveArrangement<Entry>: Sendable {
    /// The list that provides the rows.
    associatedtype Rows: LiveQuery
    /// The type of the entries.
    associatedtype Entry: Hashable & Sendable
    /// The identity of an entry.
    associatedtype Subject: Hashable

    /// Returns the list of rows to arrange at a given time; its tables must not depend on the time.
    ///
    /// The method is called at the start and at each `nextChangeAt`, even if that time has already
    /// passed. The returned rows are read and compared with the previous rows.
    ///
    /// - Parameter now: The time in milliseconds since 1970.
    func rows(at now: Int64) -> Rows
    /// The other rows that determine which rows are arranged; empty by default.
    var basis: [RowRange] { get }
    /// Returns the list of rows to arrange, for an arrangement whose list depends on views; called
    /// at the same times as `rows(at:)`, and whenever rows in `basis` change.
    ///
    /// Rows that were in the previous list keep their entries. If the method throws
    /// `.signInRequired`, the list is empty and `LiveState.failures` contains the reason. By
    /// default, the method returns `rows(at:)`.
    func rows(at now: Int64, from views: Views) throws -> Rows
    /// Arranges rows.
    ///
    /// - Parameters:
    ///   - rows: The rows, in the order of the list.
    ///   - hasMore: Whether there are more rows beyond the limit of `rows(at:)`.
    ///   - now: The time in milliseconds since 1970.
    func arranged(_ rows: [Rows.Entry], hasMore: Bool, at now: Int64) -> LiveArranged<Entry>
    /// Returns the identity of an entry, which must be unique in the list.
    func subject(of entry: Entry) -> Subject
}

extension LiveArrangement {
    /// Empty.
    public var basis: [RowRange] { [] }
    /// Returns `rows(at:)`.
    public func rows(at now: Int64, from views: Views) throws -> Rows { rows(at: now) }
}

/// The result of an arrangement.
public struct LiveArranged<Entry: Hashable & Sendable>: Sendable {
    /// The entries of the list.
    public var entries: [Entry]
    /// Whether there are more entries after the last one.
    public var hasMore: Bool
    /// The time at which the list may change without new events, in milliseconds since 1970; nil
    /// for never.
    public var nextChangeAt: Int64?

    /// Creates an arranged list.
    public init(_ entries: [Entry], hasMore: Bool = false, nextChangeAt: Int64? = nil) {
        (self.entries, self.hasMore, self.nextChangeAt) = (entries, hasMore, nextChangeAt)
    }
}

/// The state of an arranged list that is being followed: its rows and the last reported entries.
final class ArrangedRows<Arrangement: LiveArrangement>: LiveSource {
    private let arrangement: Arrangement
    private let rows: LiveRows<Arrangement.Rows>
    private var list = LiveArranged<Arrangement.Entry>([])
    private var changes: [LiveChange<Arrangement.Entry>] = []
    /// The time of the last update, in milliseconds since 1970; nil before the first update.
    private var seenAt: Int64?
    /// Whether rows have changed since the last arrangement.
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
            // This is the first update, or the clock went backwards, so read all rows.
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
        if !rows.takeChanges().isEmpty || rows.hasMore != hadMore { isStale = true }
        guard isStale else { return }
        var arranged = arranged(at: now)
        if let time = arranged.nextChangeAt, time <= now {
            // The rows just read are for a time in the past; read the rows for the current time.
            try turn([], at: now, views)
            _ = rows.takeChanges()
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

    /// - Parameter changes: The changes to the current rows; nil if some changes are unknown.
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
        // If the changes are unknown, anything may have changed.
        guard let changes else { return !arrangement.basis.isEmpty }
        return zip(arrangement.basis, changes).contains { range, changes in
            changes.contains { $0.keys.contains { range.key(ofChanged: $0) != nil } }
        }
    }

    func shows(_ rows: KeyRows) -> Bool { self.rows.shows(rows) }

    func takeChanges() -> [LiveChange<Arrangement.Entry>] {
        defer { changes = [] }
        return changes
    }
}

extension LiveChange {
    /// Returns the changes that lead from one list to another; entries that keep their relative
    /// order are not moved.
    static func changes<Subject: Hashable>(
        from old: [Entry], to new: [Entry], by subject: (Entry) -> Subject
    ) -> [LiveChange] {
        guard old != new else { return [] }
        var changes: [LiveChange] = []
        let places = Dictionary(
            new.enumerated().map { (subject($1), $0) }, uniquingKeysWith: { first, _ in first })
        // The new indexes of the entries that are in both lists, in their old order.
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

    /// Returns the longest increasing subsequence of distinct numbers.
    private static func longestRise(_ numbers: [Int]) -> Set<Int> {
        // For each length, the index of the lowest number with which a subsequence of that length
        // ends.
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
