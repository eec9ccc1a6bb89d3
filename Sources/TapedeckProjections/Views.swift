internal import Synchronization
internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// A consistent view of projections inside `ProjectionRunner.read`.
public struct Views: ViewReader {
    private let sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)]
    /// Folds keys on demand; if nil, tables are read instead.
    private let folds: KeyFolds?
    private let scope: ViewsScope

    init(
        _ sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)],
        _ scope: ViewsScope
    ) {
        self.sources = sources
        self.scope = scope
        folds = nil
    }

    init(_ folds: KeyFolds, _ scope: ViewsScope) {
        self.folds = folds
        self.scope = scope
        sources = [:]
    }

    /// The store's own origin; see `ViewReader`.
    public var device: OriginID? { scope.device }

    /// The source of a projection's data.
    private enum Source {
        case tables(ViewsFile.Tables, TransactionAlias)
        /// The keys of several projections, folded in memory, and the index of this projection.
        case folds(KeyFolds, Int)
    }

    private func source(_ projection: some Projection) throws -> Source {
        guard scope.isOpen else {
            throw ProjectionError(
                .closed, "the views were used after their read had ended",
                hint: "copy the values you need during the read", projection: projection.name)
        }
        let fingerprint = ProjectionDriver.fingerprint(of: projection)
        if let folds, let place = folds.place(of: fingerprint) { return .folds(folds, place) }
        guard let (tables, transaction) = sources[fingerprint] else {
            throw ProjectionError(
                .notFound, "this store does not have the projection \(projection.name)",
                hint: "open the store with this projection", projection: projection.name)
        }
        return .tables(tables, transaction)
    }

    /// Returns the state of a key; nil if the key has no events.
    public func state<P: Projection>(of projection: P, key: Tag) throws -> P.State? {
        var state: P.State?
        try readState(of: projection, key, in: source(projection)) {
            state = try P.State(decoding: &$0)
        }
        return state
    }

    /// Calls `body` with the state of each key that has events; see `ViewReader`.
    public func forEachState(
        of projection: some Projection, keys: [Tag],
        _ body: (_ index: Int, _ state: inout StateReader) throws -> Void
    ) throws {
        let source = try source(projection)
        for (index, key) in keys.enumerated() {
            try readState(of: projection, key, in: source) { try body(index, &$0) }
        }
    }

    /// Calls `body` with the state of a key, unless the key has no events.
    private func readState(
        of projection: some Projection, _ key: Tag, in source: Source,
        _ body: (inout StateReader) throws -> Void
    ) throws {
        switch source {
        case .tables(let tables, let transaction):
            scope.recorder?.add(projection, key: key)
            guard let stored = try transaction.get(tables.states, ViewKey(key).bytes) else {
                return
            }
            try read(stored, of: projection, key, body)
        case .folds(let folds, let place):
            let stored = try folds.key(key, place).stored
            guard !stored.isEmpty else { return }
            try stored.withUnsafeBytes { try read($0, of: projection, key, body) }
        }
    }

    private func read(
        _ bytes: UnsafeRawBufferPointer, of projection: some Projection, _ key: Tag,
        _ body: (inout StateReader) throws -> Void
    ) throws {
        do {
            let stored = try StoredKey(bytes, law: projection.law)
            if scope.recorder != nil, stored.isFrozen { throw Views.isFrozen(projection, key) }
            var reader = StateReader(stored.state, isForQuery: true)
            try body(&reader)
        } catch let error as ProjectionError {
            throw error
        } catch {
            throw ProjectionError(
                .damaged, "the state of \(key) in \(projection.name) cannot be read",
                hint: "storectl replay rebuilds projections", projection: projection.name,
                cause: (error as? StoredRowError)?.cause ?? error)
        }
    }

    /// Notes that a decision reads the items of a key; throws if the key is frozen.
    private func record<P: Projection>(
        _ projection: P, _ key: Tag, _ tables: ViewsFile.Tables, _ transaction: TransactionAlias
    ) throws {
        guard let recorder = scope.recorder else { return }
        recorder.add(projection, key: key)
        if try transaction.get(tables.states, ViewKey(key).bytes).map(StoredKey.isFrozen) == true {
            throw Views.isFrozen(projection, key)
        }
    }

    private static func isFrozen(_ projection: some Projection, _ key: Tag) -> ProjectionError {
        ProjectionError(
            .frozen, "\(key) is frozen in \(projection.name): its fold rejected an event",
            hint: "storectl doctor shows the event; decisions cannot use a frozen key",
            projection: projection.name)
    }

    /// Returns one item of a key; nil if there is none.
    public func item(of projection: some Projection, key: Tag, name: RowKey) throws -> [UInt8]? {
        switch try source(projection) {
        case .tables(let tables, let transaction):
            try record(projection, key, tables, transaction)
            return try transaction.get(tables.items, ViewKey(key).bytes + ItemName.bytes(name))
                .map { Array($0) }
        case .folds(let folds, let place):
            return try folds.key(key, place).items.get(ItemName.bytes(name))
        }
    }

    /// Returns those items of a key whose names begin with `prefix`, in byte order; see
    /// `ViewReader`.
    public func items(
        of projection: some Projection, key: Tag, prefix: RowKey, after: [UInt8]?, limit: Int
    ) throws -> [Row] {
        switch try source(projection) {
        case .tables(let tables, let transaction):
            try record(projection, key, tables, transaction)
            let owner = ViewKey(key).bytes
            let start = owner + prefix.bytes
            return try scan(
                transaction, tables.items, from: start, after: after.map { owner + $0 },
                upTo: KeyRange.upper(of: start), dropping: owner.count, limit: limit)
        case .folds(let folds, let place):
            return try folds.key(key, place).itemRows.part(
                from: prefix.bytes, after: after, upTo: KeyRange.upper(of: prefix.bytes),
                limit: limit)
        }
    }

    /// Returns rows of one table, in byte order; see `ViewReader`.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int
    ) throws -> [Row] {
        try rows(of: projection, table, lower, upper, after: after, limit, eventsTagged: nil)
    }

    /// Returns rows of one table in byte order; all events of these rows must have the tag `tag`
    /// (see `ViewReader`).
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int, eventsTagged tag: Tag
    ) throws -> [Row] {
        try rows(of: projection, table, lower, upper, after: after, limit, eventsTagged: tag)
    }

    private func rows(
        of projection: some Projection, _ table: Int, _ lower: RowKey?, _ upper: RowKey?,
        after: [UInt8]?, _ limit: Int, eventsTagged tag: Tag?
    ) throws -> [Row] {
        let name = [UInt8(table)]
        let front = name + (lower?.bytes ?? [])
        let after = after.map { name + $0 }
        let end = upper.map { name + $0.bytes } ?? KeyRange.upper(of: name)
        switch try source(projection) {
        case .tables(let tables, let transaction):
            scope.recorder?.add(projection, key: nil)
            return try scan(
                transaction, tables.rows, from: front, after: after, upTo: end, dropping: 1,
                limit: limit)
        case .folds(let folds, let place):
            return try folds.rows(place, eventsTagged: tag)
                .part(from: front, after: after, upTo: end, limit: limit).map(\.withoutTable)
        }
    }

    /// Returns rows of one table in reverse byte order; see `ViewReader`.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?,
        before: [UInt8]?, limit: Int
    ) throws -> [Row] {
        let name = [UInt8(table)]
        let front = name + (lower?.bytes ?? [])
        let bound = [upper?.bytes, before].compactMap { $0 }
            .min { $0.lexicographicallyPrecedes($1) }
        let end = bound.map { name + $0 } ?? KeyRange.upper(of: name)
        let (tables, transaction): (ViewsFile.Tables, TransactionAlias)
        switch try source(projection) {
        case .tables(let found, let alias): (tables, transaction) = (found, alias)
        case .folds(let folds, let place):
            return try folds.rows(place, eventsTagged: nil).reversed()
                .drop { row in end.map { !row.key.lexicographicallyPrecedes($0) } ?? false }
                .prefix { !$0.key.lexicographicallyPrecedes(front) }
                .prefix(limit).map(\.withoutTable)
        }
        scope.recorder?.add(projection, key: nil)
        let cursor = try transaction.cursor(tables.rows)
        var entry = try end.map { try cursor.lastBelow($0) } ?? cursor.last()
        var found: [Row] = []
        while found.count < limit, let row = entry, !row.key.lexicographicallyPrecedes(front) {
            found.append(Row(key: Array(row.key.dropFirst()), value: Array(row.value)))
            entry = try cursor.previous()
        }
        return found
    }

    /// Returns the tables of a projection and their transaction; nil if these views do not read its
    /// tables.
    func tables(
        of projection: Digest16
    ) -> (tables: ViewsFile.Tables, transaction: TransactionAlias)? { sources[projection] }

    /// Returns the entries of a table with keys that are at least `from`, greater than `after` and
    /// less than `upTo`.
    func scan(
        _ transaction: TransactionAlias, _ table: Table, from: [UInt8], after: [UInt8]?,
        upTo: [UInt8]?, dropping: Int, limit: Int
    ) throws -> [Row] {
        var found: [Row] = []
        let cursor = try transaction.cursor(table)
        var entry: Cursor.Entry?
        if let after, from.lexicographicallyPrecedes(after) || from == after {
            entry = try cursor.seek(after)
            if let first = entry, first.key.elementsEqual(after) { entry = try cursor.next() }
        } else {
            entry = try cursor.seek(from)
        }
        while found.count < limit, let row = entry {
            if let upTo, !row.key.lexicographicallyPrecedes(upTo) { break }
            found.append(Row(key: Array(row.key[dropping...]), value: Array(row.value)))
            entry = try cursor.next()
        }
        return found
    }
}

extension [Row] {
    /// Returns the rows with keys that are at least `from`, greater than `after` and less than
    /// `end`; the rows must be sorted.
    fileprivate func part(
        from: [UInt8], after: [UInt8]?, upTo end: [UInt8]?, limit: Int
    ) -> [Row] {
        var start = place { !$0.lexicographicallyPrecedes(from) }
        if let after { start = Swift.max(start, place { after.lexicographicallyPrecedes($0) }) }
        let rest = end.map { end in place { !$0.lexicographicallyPrecedes(end) } } ?? count
        return Array(self[start..<Swift.max(start, rest)].prefix(limit))
    }

    /// Returns the index of the first key for which a condition is true; it must also be true for
    /// all later keys.
    private func place(where isSo: ([UInt8]) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isSo(self[middle].key) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Row {
    /// The row without the leading table number in its key.
    fileprivate var withoutTable: Row { Row(key: Array(key.dropFirst()), value: value) }
}

/// A flag that shows whether the transactions of the views are still open.
final class ViewsScope: Sendable {
    /// Records the reads; nil if they do not have to be recorded.
    let recorder: ReadRecorder?
    private let hasEnded = Atomic(false)

    /// The store's own origin.
    let device: OriginID?

    init(_ device: OriginID? = nil, _ recorder: ReadRecorder? = nil) {
        (self.device, self.recorder) = (device, recorder)
    }

    var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    func end() { hasEnded.store(true, ordering: .releasing) }
}
