internal import TapedeckModel

/// The rows of a list that somebody follows, as they were told last.
///
/// What a commit changes is found by halving, so an update costs the rows that it is about, however many
/// there are. Each change is noted as it is made: where a read fails in between, what was noted waits, and
/// taking the same changes once more does the rest.
final class LiveRows<Query: LiveQuery> {
    private final class Entry {
        let key: [UInt8]
        let subject: [UInt8]
        var made: LiveEntry<Query.Entry>

        init(_ key: [UInt8], _ subject: [UInt8], _ made: LiveEntry<Query.Entry>) {
            (self.key, self.subject, self.made) = (key, subject, made)
        }
    }

    private let query: Query
    /// In the order of their keys.
    private var entries: [Entry] = []
    private var bySubject: [[UInt8]: Entry] = [:]
    /// Those that change with the time.
    private var timed: [[UInt8]: Entry] = [:]
    private(set) var hasMore = false
    /// What was made and not told yet.
    private var changes: [LiveChange<Query.Entry>] = []

    init(_ query: Query) { self.query = query }

    var nextChangeAt: Int64? { timed.values.compactMap(\.made.nextChangeAt).min() }

    /// What was made since it was told last.
    func told() -> [LiveChange<Query.Entry>] {
        defer { changes = [] }
        return changes
    }

    /// Reads the list anew: at first, and where changes are no longer known.
    func reread(at now: Int64, _ views: Views) throws {
        var rows = try self.rows(after: nil, limit: query.limit + 1, views)
        hasMore = rows.count > query.limit
        if hasMore { rows.removeLast() }
        var touched: [[UInt8]: [UInt8]?] = [:]
        for entry in entries { touched[entry.key] = .some(nil) }
        for row in rows { touched[row.key] = row.value }
        let held = hasMore
        // Whatever was read belongs to the list, also what stands behind the last that was known.
        hasMore = false
        defer { hasMore = hasMore || held }
        try take(touched, stale: [], at: now, views)
    }

    /// Takes in what commits have changed.
    ///
    /// - Parameters:
    ///   - list: the changes of the list's table.
    ///   - details: those of the tables of the details.
    func take(
        list: [RowChange], details: [[RowChange]], at now: Int64, _ views: Views
    ) throws {
        var touched: [[UInt8]: [UInt8]?] = [:]
        for change in list {
            for key in change.removedKeys where query.list.contains(key) {
                touched[key] = .some(nil)
            }
            if let row = change.row, query.list.contains(row.key) { touched[row.key] = row.value }
        }
        var stale: [[UInt8]: Entry] = timed.filter { $0.value.made.nextChangeAt ?? .max <= now }
        for (index, changes) in details.enumerated() {
            for change in changes {
                for key in change.removedKeys + (change.row.map { [$0.key] } ?? [])
                where query.details[index].contains(key) {
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
    ///   - touched: keys with the values that stand there now, nil where nothing does.
    ///   - stale: entries whose details changed, or whose time has come.
    private func take(
        _ touched: [[UInt8]: [UInt8]?], stale: [Entry], at now: Int64, _ views: Views
    ) throws {
        let last = hasMore ? entries.last?.key : nil
        var come: [[UInt8]: Row] = [:]
        var fresh: [Row] = []
        let inOrder = touched.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for (key, value) in inOrder {
            guard let value else { continue }
            let row = Row(key: key, value: value)
            if let index = index(of: key) {
                try update(index, row, at: now, views)
            } else if last.map({ key.lexicographicallyPrecedes($0) }) ?? true {
                come[query.subject(ofListed: key)] = row
                fresh.append(row)
            }
        }
        for (key, value) in inOrder where value == nil {
            guard let from = index(of: key) else { continue }
            let subject = entries[from].subject
            guard let row = come.removeValue(forKey: subject) else {
                remove(at: from)
                changes.append(.removed(at: from))
                continue
            }
            let moved = Entry(row.key, subject, try query.entry(row, at: now, from: views))
            entries.remove(at: from)
            let to = place(of: row.key)
            entries.insert(moved, at: to)
            note(moved)
            changes.append(.moved(from: from, to: to, moved.made.entry))
        }
        for row in fresh where come[query.subject(ofListed: row.key)]?.key == row.key {
            try insert(row, at: now, views)
        }
        while entries.count > query.limit {
            remove(at: entries.count - 1)
            changes.append(.removed(at: entries.count))
            hasMore = true
        }
        // What was touched has been made anew already.
        for entry in stale where bySubject[entry.subject] === entry && touched[entry.key] == nil {
            guard let index = index(of: entry.key),
                let row = try rows(at: entry.key, views)
            else { continue }
            try update(index, row, at: now, views)
        }
    }

    /// Reads what comes up from behind the last row.
    ///
    /// - Parameter hasLost: whether rows went, perhaps the last of those behind.
    private func fill(hasLost: Bool, at now: Int64, _ views: Views) throws {
        guard hasMore, hasLost || entries.count < query.limit else { return }
        let wanted = query.limit - entries.count
        let rows = try rows(after: entries.last?.key, limit: wanted + 1, views)
        for row in rows.prefix(wanted) { try insert(row, at: now, views) }
        hasMore = rows.count > wanted
    }

    private func insert(_ row: Row, at now: Int64, _ views: Views) throws {
        let entry = Entry(
            row.key, query.subject(ofListed: row.key),
            try query.entry(row, at: now, from: views))
        let place = place(of: row.key)
        entries.insert(entry, at: place)
        note(entry)
        changes.append(.inserted(entry.made.entry, at: place))
    }

    private func update(_ index: Int, _ row: Row, at now: Int64, _ views: Views) throws {
        let entry = entries[index]
        let made = try query.entry(row, at: now, from: views)
        let isAnother = made.entry != entry.made.entry
        entry.made = made
        note(entry)
        if isAnother { changes.append(.updated(made.entry, at: index)) }
    }

    private func note(_ entry: Entry) {
        bySubject[entry.subject] = entry
        timed[entry.subject] = entry.made.nextChangeAt == nil ? nil : entry
    }

    private func remove(at index: Int) {
        let entry = entries.remove(at: index)
        guard bySubject[entry.subject] === entry else { return }
        bySubject[entry.subject] = nil
        timed[entry.subject] = nil
    }

    // MARK: - Places

    /// Where a key stands, or would stand.
    private func place(of key: [UInt8]) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key.lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private func index(of key: [UInt8]) -> Int? {
        let place = place(of: key)
        return place < entries.count && entries[place].key == key ? place : nil
    }

    private func rows(after key: [UInt8]?, limit: Int, _ views: Views) throws -> [Row] {
        try views.rows(
            of: query.list.projection, table: query.list.table, lower: query.list.lower,
            upper: query.list.upper, after: key, limit: limit)
    }

    private func rows(at key: [UInt8], _ views: Views) throws -> Row? {
        let row = try views.rows(
            of: query.list.projection, table: query.list.table, lower: RowKey(key), upper: nil,
            after: nil, limit: 1
        ).first
        return row?.key == key ? row : nil
    }
}

extension RowChange {
    /// The key that no longer stands where it stood.
    fileprivate var removedKeys: [[UInt8]] {
        switch self {
        case .removed(let key): [key]
        case .moved(let from, _): [from]
        case .inserted, .updated: []
        }
    }

    /// The row as it is now.
    fileprivate var row: Row? {
        switch self {
        case .inserted(let row), .updated(let row), .moved(_, let row): row
        case .removed: nil
        }
    }
}
