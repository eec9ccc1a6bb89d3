internal import Synchronization
internal import TapedeckLMDB
internal import TapedeckLog
public import TapedeckModel

/// What projections hold as of one moment, inside `ProjectionRunner.read`.
public struct Views: ViewReader {
    private let sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)]
    private let scope: ViewsScope

    init(
        _ sources: [Digest16: (tables: ViewsFile.Tables, transaction: TransactionAlias)],
        _ scope: ViewsScope
    ) {
        self.sources = sources
        self.scope = scope
    }

    private func source(
        _ projection: some Projection
    ) throws -> (tables: ViewsFile.Tables, transaction: TransactionAlias) {
        guard scope.isOpen else {
            throw ProjectionError(
                .closed, "views were kept beyond the read that gave them",
                hint: "take out of them what is needed", projection: projection.name)
        }
        guard let source = sources[ProjectionDriver.fingerprint(of: projection)] else {
            throw ProjectionError(
                .notFound, "this store does not keep the projection \(projection.name)",
                hint: "open the store with it", projection: projection.name)
        }
        return source
    }

    /// The state of one key; nil where no event of the key was folded.
    public func state<P: Projection>(of projection: P, key: Tag) throws -> P.State? {
        let (tables, transaction) = try source(projection)
        scope.recorder?.add(projection, key: key)
        guard let bytes = try transaction.get(tables.states, ViewKey(key).bytes) else { return nil }
        do {
            let stored = try StoredKey(bytes, law: projection.law)
            if scope.recorder != nil, stored.isFrozen { throw Views.isFrozen(projection, key) }
            var reader = StateReader(stored.state)
            return try P.State(decoding: &reader)
        } catch let error as ProjectionError {
            throw error
        } catch {
            throw ProjectionError(
                .damaged, "the state of \(key) in \(projection.name) cannot be read",
                hint: "storectl replay makes projections anew", projection: projection.name,
                cause: (error as? StoredRowError)?.cause ?? error)
        }
    }

    /// Notes that a key's items are read, by a decision; a frozen key says nothing to decide on.
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
            .frozen, "\(key) is frozen in \(projection.name): its fold refused an event",
            hint: "storectl doctor names the event; nothing can be decided on what came before it",
            projection: projection.name)
    }

    /// One item of a key.
    public func item(of projection: some Projection, key: Tag, name: RowKey) throws -> [UInt8]? {
        let (tables, transaction) = try source(projection)
        try record(projection, key, tables, transaction)
        return try transaction.get(tables.items, ViewKey(key).bytes + ItemName.bytes(name))
            .map { Array($0) }
    }

    /// A key's items whose names begin with `prefix`, in byte order; see `ViewReader`.
    public func items(
        of projection: some Projection, key: Tag, prefix: RowKey, after: [UInt8]?, limit: Int
    ) throws -> [Row] {
        let (tables, transaction) = try source(projection)
        try record(projection, key, tables, transaction)
        let owner = ViewKey(key).bytes
        let start = owner + prefix.bytes
        return try scan(
            transaction, tables.items, from: start, after: after.map { owner + $0 },
            upTo: KeyRange.upper(of: start), dropping: owner.count, limit: limit)
    }

    /// Rows of one table, in byte order; see `ViewReader`.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int
    ) throws -> [Row] {
        let (tables, transaction) = try source(projection)
        scope.recorder?.add(projection, key: nil)
        let name = [UInt8(table)]
        return try scan(
            transaction, tables.rows, from: name + (lower?.bytes ?? []),
            after: after.map { name + $0 },
            upTo: upper.map { name + $0.bytes } ?? KeyRange.upper(of: name), dropping: 1,
            limit: limit)
    }

    /// Rows of one table against byte order; see `ViewReader`.
    public func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?,
        before: [UInt8]?, limit: Int
    ) throws -> [Row] {
        let (tables, transaction) = try source(projection)
        scope.recorder?.add(projection, key: nil)
        let name = [UInt8(table)]
        let front = name + (lower?.bytes ?? [])
        let bound = [upper?.bytes, before].compactMap { $0 }
            .min { $0.lexicographicallyPrecedes($1) }
        let end = bound.map { name + $0 } ?? KeyRange.upper(of: name)
        let cursor = try transaction.cursor(tables.rows)
        var entry = try end.map { try cursor.lastBelow($0) } ?? cursor.last()
        var found: [Row] = []
        while found.count < limit, let row = entry, !row.key.lexicographicallyPrecedes(front) {
            found.append(Row(key: Array(row.key.dropFirst()), value: Array(row.value)))
            entry = try cursor.previous()
        }
        return found
    }

    private func scan(
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

/// Whether the transactions are open that views read from.
final class ViewsScope: Sendable {
    /// Notes what is read; nil where nobody wants to know.
    let recorder: ReadRecorder?
    private let hasEnded = Atomic(false)

    init(_ recorder: ReadRecorder? = nil) { self.recorder = recorder }

    var isOpen: Bool { !hasEnded.load(ordering: .acquiring) }

    func end() { hasEnded.store(true, ordering: .releasing) }
}
