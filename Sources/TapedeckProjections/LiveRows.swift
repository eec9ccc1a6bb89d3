internal import DequeModule
internal import TapedeckModel

/// The last reported rows of a followed list.
///
/// Changed rows are found by binary search, so the cost of an update depends on the number of rows
/// it affects, and only slightly on the size of the list. Each change is recorded as it is made. If
/// a read fails before the update is complete, the recorded changes are kept, and repeating the
/// call with the same changes completes the update.
final class LiveRows<Query: LiveQuery>: LiveSource {
    typealias Entry = Query.Entry

    private final class Placed {
        /// The position in the list: the key of the row, combined with the index of its range.
        let place: [UInt8]
        let subject: [UInt8]
        var made: LiveEntry<Query.Entry>
        /// The keys from which the entry was last built.
        var keys: [[UInt8]] = []

        init(_ place: [UInt8], _ subject: [UInt8], _ made: LiveEntry<Query.Entry>) {
            (self.place, self.subject, self.made) = (place, subject, made)
        }
    }

    private var query: Query
    /// The entries in the order of their positions.
    ///
    /// In a deque, inserting near the start is as cheap as inserting near the end; most lists begin
    /// with the newest entry.
    private var entries: Deque<Placed> = []
    private var bySubject: [[UInt8]: Placed] = [:]
    /// The entries that change with time.
    private var timed: [[UInt8]: Placed] = [:]
    /// The identities of the entries built from each key.
    private var byKey: [[UInt8]: Set<[UInt8]>] = [:]
    private(set) var hasMore = false
    /// The changes that have not been reported yet.
    private var changes: [LiveChange<Query.Entry>] = []

    init(_ query: Query) { self.query = query }

    var ranges: [RowRange] { query.lists + query.details }

    var projections: [any Projection] { query.projections }
    var systems: [String] { query.systems }

    /// The current entries.
    var list: [Query.Entry] { entries.map(\.made.entry) }

    var nextChangeAt: Int64? { timed.values.compactMap(\.made.nextChangeAt).min() }

    /// Returns the changes since the last call.
    func takeChanges() -> [LiveChange<Query.Entry>] {
        defer { changes = [] }
        return changes
    }

    func take(_ changes: [[RowChange]]?, at now: Int64, _ views: Views) throws {
        guard let changes else { return try reread(at: now, views) }
        let count = query.lists.count
        try take(
            lists: changes.prefix(count), details: changes.dropFirst(count), at: now, views)
    }

    func shows(_ rows: KeyRows) -> Bool {
        query.lists.indices.contains { isShown(rows, inList: $0) }
            || query.details.indices.contains { isShown(rows, inDetail: $0) }
    }

    private func isShown(_ rows: KeyRows, inList list: Int) -> Bool {
        let range = query.lists[list]
        return isOf(range, rows)
            || keys(of: rows, in: range).contains { index(of: place($0, in: list)) != nil }
    }

    private func isShown(_ rows: KeyRows, inDetail index: Int) -> Bool {
        let range = query.details[index]
        if range.isOfKeys {
            return isOf(range.projection, rows) && byKey[rows.key.bytes] != nil
        }
        return isOf(range, rows)
            || keys(of: rows, in: range).contains { key in
                // A row without a subject may affect every entry, so it matters unless the list is
                // empty.
                query.subject(ofDetail: key, in: index).map { bySubject[$0] != nil }
                    ?? !entries.isEmpty
            }
    }

    private func isOf(_ projection: any Projection, _ rows: KeyRows) -> Bool {
        ProjectionDriver.fingerprint(of: projection) == rows.projection
    }

    /// Returns whether the key of `rows` owns the entire range, in the same projection.
    private func isOf(_ range: RowRange, _ rows: KeyRows) -> Bool {
        isOf(range.projection, rows) && range.isOf(rows.key)
    }

    /// Returns the keys of the rows that are in a range.
    private func keys(of rows: KeyRows, in range: RowRange) -> [[UInt8]] {
        guard isOf(range.projection, rows) else { return [] }
        return rows.keys(in: range.table).compactMap(range.key(ofChanged:))
    }

    /// Switches to other ranges of the same tables; rows in both the old and the new ranges keep
    /// their entries.
    ///
    /// - Parameter changes: The changes to the previous ranges; nil if some changes are unknown.
    func turn(
        to query: Query, _ changes: [[RowChange]]?, at now: Int64, _ views: Views
    ) throws {
        if let changes, !changes.isEmpty { try take(changes, at: now, views) }
        self.query = query
        try reread(keeping: changes != nil, at: now, views)
    }

    /// Reads the entire list, which is needed at the start, after a switch to other ranges, and if
    /// some changes are unknown.
    ///
    /// - Parameter keeping: Whether existing entries are still correct.
    private func reread(keeping: Bool = false, at now: Int64, _ views: Views) throws {
        var rows = try self.rows(after: nil, limit: query.limit + 1, views)
        hasMore = rows.count > query.limit
        if hasMore { rows.removeLast() }
        var touched: [[UInt8]: [UInt8]?] = [:]
        for entry in entries { touched[entry.place] = .some(nil) }
        for row in rows {
            if keeping, index(of: row.key) != nil {
                touched[row.key] = nil
            } else {
                touched[row.key] = row.value
            }
        }
        let held = hasMore
        // Every row that was just read belongs to the list, even if it comes after the list's
        // previous last row.
        hasMore = false
        defer { hasMore = hasMore || held }
        try take(touched, stale: [], at: now, views)
    }

    /// Applies the changes made by commits.
    ///
    /// - Parameters:
    ///   - lists: The changes in the tables of `lists`.
    ///   - details: The changes in the tables of `details`.
    private func take(
        lists: ArraySlice<[RowChange]>, details: ArraySlice<[RowChange]>, at now: Int64,
        _ views: Views
    ) throws {
        var touched: [[UInt8]: [UInt8]?] = [:]
        for (list, (range, changes)) in zip(query.lists, lists).enumerated() {
            for change in changes {
                for key in change.removedKeys.compactMap(range.key(ofChanged:)) {
                    touched[place(key, in: list)] = .some(nil)
                }
                if let row = change.row, let key = range.key(ofChanged: row.key) {
                    let value = try range.includes(row.value) ? row.value : nil
                    touched[place(key, in: list)] = .some(value)
                }
            }
        }
        var stale: [[UInt8]: Placed] = timed.filter { $0.value.made.nextChangeAt ?? .max <= now }
        for (index, (range, changes)) in zip(query.details, details).enumerated() {
            for change in changes {
                for key in change.keys.compactMap(range.key(ofChanged:)) {
                    if range.isOfKeys {
                        for subject in byKey[key] ?? [] { stale[subject] = bySubject[subject] }
                        continue
                    }
                    guard let subject = query.subject(ofDetail: key, in: index) else {
                        stale = bySubject
                        break
                    }
                    if let entry = bySubject[subject] { stale[subject] = entry }
                }
            }
        }
        guard !touched.isEmpty || !stale.isEmpty else { return }
        try take(touched, stale: Array(stale.values), at: now, views)
        try fill(hasLost: touched.values.contains { $0 == nil }, at: now, views)
    }

    // MARK: - Changes

    /// - Parameters:
    ///   - touched: The positions that changed, with the current value of the row at each; nil if
    ///     the row is gone.
    ///   - stale: The entries whose details have changed or whose `nextChangeAt` has passed.
    private func take(
        _ touched: [[UInt8]: [UInt8]?], stale: [Placed], at now: Int64, _ views: Views
    ) throws {
        let last = hasMore ? entries.last?.place : nil
        var come: [[UInt8]: Row] = [:]
        var fresh: [Row] = []
        let inOrder = touched.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for (place, value) in inOrder {
            guard let value else { continue }
            let row = Row(key: place, value: value)
            if let index = index(of: place) {
                try update(index, row, at: now, views)
            } else if last.map({ place.lexicographicallyPrecedes($0) }) ?? true {
                come[subject(row)] = row
                fresh.append(row)
            }
        }
        for (place, value) in inOrder where value == nil {
            guard let from = index(of: place) else { continue }
            let subject = entries[from].subject
            guard let row = come.removeValue(forKey: subject) else {
                remove(at: from)
                changes.append(.removed(at: from))
                continue
            }
            let moved = Placed(row.key, subject, try made(row, at: now, views))
            entries.remove(at: from)
            let to = index(for: row.key)
            entries.insert(moved, at: to)
            note(moved)
            changes.append(.moved(from: from, to: to, moved.made.entry))
        }
        for row in fresh where come[subject(row)]?.key == row.key {
            try insert(row, at: now, views)
        }
        while entries.count > query.limit {
            remove(at: entries.count - 1)
            changes.append(.removed(at: entries.count))
            hasMore = true
        }
        // Skip touched entries, which have already been rebuilt.
        for entry in stale where bySubject[entry.subject] === entry && touched[entry.place] == nil {
            guard let index = index(of: entry.place),
                let row = try row(at: entry.place, views)
            else { continue }
            try update(index, row, at: now, views)
        }
    }

    /// Reads the rows that move up from beyond the limit.
    ///
    /// - Parameter hasLost: Whether rows have been removed, in which case there may be no rows left
    ///   beyond the limit.
    private func fill(hasLost: Bool, at now: Int64, _ views: Views) throws {
        guard hasMore, hasLost || entries.count < query.limit else { return }
        let wanted = query.limit - entries.count
        let rows = try rows(after: entries.last?.place, limit: wanted + 1, views)
        for row in rows.prefix(wanted) { try insert(row, at: now, views) }
        hasMore = rows.count > wanted
    }

    private func insert(_ row: Row, at now: Int64, _ views: Views) throws {
        let entry = Placed(row.key, subject(row), try made(row, at: now, views))
        let index = index(for: row.key)
        entries.insert(entry, at: index)
        note(entry)
        changes.append(.inserted(entry.made.entry, at: index))
    }

    private func update(_ index: Int, _ row: Row, at now: Int64, _ views: Views) throws {
        let entry = entries[index]
        let made = try made(row, at: now, views)
        let isAnother = made.entry != entry.made.entry
        entry.made = made
        note(entry)
        if isAnother { changes.append(.updated(made.entry, at: index)) }
    }

    /// Builds the entry of a row; `row.key` is the position of the row.
    private func made(
        _ row: Row, at now: Int64, _ views: Views
    ) throws -> LiveEntry<Query.Entry> {
        let (key, list) = key(at: row.key)
        return try query.entry(Row(key: key, value: row.value), in: list, at: now, from: views)
    }

    private func subject(_ row: Row) -> [UInt8] {
        let (key, list) = key(at: row.key)
        return query.subject(ofListed: key, in: list)
    }

    private func note(_ entry: Placed) {
        if let before = bySubject[entry.subject] { forgetKeys(of: before) }
        bySubject[entry.subject] = entry
        timed[entry.subject] = entry.made.nextChangeAt == nil ? nil : entry
        entry.keys = entry.made.keys.map { ViewKey($0).bytes }
        for key in entry.keys { byKey[key, default: []].insert(entry.subject) }
    }

    private func remove(at index: Int) {
        let entry = entries.remove(at: index)
        guard bySubject[entry.subject] === entry else { return }
        forgetKeys(of: entry)
        bySubject[entry.subject] = nil
        timed[entry.subject] = nil
    }

    private func forgetKeys(of entry: Placed) {
        for key in entry.keys {
            byKey[key]?.remove(entry.subject)
            if byKey[key]?.isEmpty ?? false { byKey[key] = nil }
        }
        entry.keys = []
    }

    // MARK: - Places

    /// Converts the key of a row in one list to the position of the row among the rows of all
    /// lists.
    private func place(_ key: [UInt8], in list: Int) -> [UInt8] {
        switch query.order {
        case .concatenated: [UInt8(list)] + key
        case .merged(let count): key.dropFirst(count) + [UInt8(list)]
        }
    }

    /// Returns the key at a position, and the index of its list.
    private func key(at place: [UInt8]) -> ([UInt8], list: Int) {
        switch query.order {
        case .concatenated: return (Array(place.dropFirst()), Int(place.first ?? 0))
        case .merged:
            let list = Int(place.last ?? 0)
            return (key(behind: place, in: list), list)
        }
    }

    /// Returns the key in a list that corresponds to a position among merged lists.
    private func key(behind place: [UInt8], in list: Int) -> [UInt8] {
        guard case .merged(let count) = query.order else { return [] }
        return Array((query.lists[list].lower?.bytes ?? []).prefix(count)) + place.dropLast()
    }

    /// Returns the index of the first entry that is not before a position.
    private func index(for place: [UInt8]) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place.lexicographicallyPrecedes(place) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private func index(of place: [UInt8]) -> Int? {
        let index = index(for: place)
        return index < entries.count && entries[index].place == place ? index : nil
    }

    // MARK: - Rows

    /// Returns the rows after a position, with their positions as keys.
    private func rows(after place: [UInt8]?, limit: Int, _ views: Views) throws -> [Row] {
        var found: [Row] = []
        switch query.order {
        case .concatenated:
            let (last, first) = place.map { self.key(at: $0) } ?? ([], 0)
            for list in query.lists.indices.dropFirst(first) where found.count < limit {
                let after = place != nil && list == first ? last : nil
                found += try rows(of: list, after: after, limit: limit - found.count, views)
            }
        case .merged:
            for list in query.lists.indices {
                let key = place.map { self.key(behind: $0, in: list) }
                // A row of a later list comes after this position even if it has the same key.
                if let place, let key, list > Int(place.last ?? 0),
                    let equal = try query.lists[list].row(at: key, views)
                {
                    found.append(Row(key: self.place(key, in: list), value: equal.value))
                }
                found += try rows(of: list, after: key, limit: limit, views)
            }
            found.sort { $0.key.lexicographicallyPrecedes($1.key) }
            found.removeLast(max(0, found.count - limit))
        }
        return found
    }

    private func rows(
        of list: Int, after key: [UInt8]?, limit: Int, _ views: Views
    ) throws -> [Row] {
        try query.lists[list].rows(after: key, limit: limit, views).map {
            Row(key: place($0.key, in: list), value: $0.value)
        }
    }

    private func row(at place: [UInt8], _ views: Views) throws -> Row? {
        let (key, list) = key(at: place)
        return try query.lists[list].row(at: key, views).map { Row(key: place, value: $0.value) }
    }
}

extension RowChange {
    /// The keys whose rows have changed.
    var keys: [[UInt8]] { removedKeys + (row.map { [$0.key] } ?? []) }

    /// The keys at which there is no longer a row.
    fileprivate var removedKeys: [[UInt8]] {
        switch self {
        case .removed(let key): [key]
        case .moved(let from, _): [from]
        case .inserted, .updated: []
        }
    }

    /// The current row.
    fileprivate var row: Row? {
        switch self {
        case .inserted(let row), .updated(let row), .moved(_, let row): row
        case .removed: nil
        }
    }
}
