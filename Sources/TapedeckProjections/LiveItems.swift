internal import TapedeckLMDB

/// A key's items in LMDB, read and written inside the runner's transaction.
///
/// What was there before is remembered, so that a fold that fails half-way leaves no trace.
final class LiveItems: ItemStore {
    private let transaction: TransactionAlias
    private let table: Table
    private let key: ViewKey
    private(set) var isUsed = false
    private var undo: [(name: [UInt8], value: [UInt8]?)] = []
    /// Whether what was there before may be wanted again.
    private var isUndoable = true
    /// What items were before the first change, where rows are made of them.
    private var originals: [[UInt8]: [UInt8]?]?
    /// The protocol that a fold sees cannot throw; what LMDB said is thrown when the fold is over.
    private(set) var failure: (any Error)?

    init(
        _ transaction: TransactionAlias, _ table: Table, _ key: ViewKey, law: FoldLaw,
        remembers: Bool = false
    ) {
        self.transaction = transaction
        self.table = table
        self.key = key
        if remembers { originals = [:] }
        if law == .canonical { isUsed = first([]) != nil }
    }

    private func attempt<R>(_ otherwise: R, _ body: () throws -> R) -> R {
        do {
            return try body()
        } catch {
            if failure == nil { failure = error }
            return otherwise
        }
    }

    func get(_ name: [UInt8]) -> [UInt8]? {
        attempt(nil) { try transaction.get(table, key.bytes + name).map { Array($0) } }
    }

    func set(_ name: [UInt8], _ value: [UInt8]) {
        isUsed = true
        attempt(()) {
            let before = get(name)
            guard before != value else { return }
            remember(name, before)
            try transaction.put(table, key.bytes + name, value)
        }
    }

    func remove(_ name: [UInt8]) {
        attempt(()) {
            guard let before = get(name) else { return }
            remember(name, before)
            try transaction.delete(table, key.bytes + name)
        }
    }

    private func remember(_ name: [UInt8], _ before: [UInt8]?) {
        if isUndoable { undo.append((name, before)) }
        note(name, before)
    }

    private func note(_ name: [UInt8], _ before: [UInt8]?) {
        if originals?.index(forKey: name) == nil { originals?[name] = .some(before) }
    }

    /// The items that are not what they were at the beginning.
    func changes() -> [(name: [UInt8], before: [UInt8]?, after: [UInt8]?)] {
        (originals ?? [:]).compactMap { name, before in
            let after = get(name)
            return before == after ? nil : (name, before, after)
        }
    }

    func first(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        attempt(nil) {
            let start = key.bytes + prefix
            let cursor = try transaction.cursor(table)
            return entry(try cursor.seek(start), start)
        }
    }

    func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        attempt(nil) {
            let start = key.bytes + prefix
            let cursor = try transaction.cursor(table)
            guard let upper = KeyRange.upper(of: start) else {
                return entry(try cursor.last(), start)
            }
            return entry(try cursor.lastBelow(upper), start)
        }
    }

    private func entry(
        _ found: Cursor.Entry?, _ start: [UInt8]
    ) -> (name: [UInt8], value: [UInt8])? {
        guard let found, found.key.starts(with: start) else { return nil }
        return (Array(found.key[key.bytes.count...]), Array(found.value))
    }

    /// Undoes all that was set and removed.
    func rollBack() throws {
        for (name, value) in undo.reversed() {
            if let value {
                try transaction.put(table, key.bytes + name, value)
            } else {
                try transaction.delete(table, key.bytes + name)
            }
        }
        undo.removeAll()
    }

    func clear() { attempt(()) { try removeAll() } }

    /// Removes all items of the key, for a fold from nothing; what was before is not wanted again.
    func removeAll() throws {
        undo.removeAll()
        isUndoable = false
        let cursor = try transaction.cursor(table)
        var found = try cursor.seek(key.bytes)
        while let entry = found, entry.key.starts(with: key.bytes) {
            if originals != nil {
                note(Array(entry.key[key.bytes.count...]), Array(entry.value))
            }
            try cursor.delete()
            found = try cursor.seek(key.bytes)
        }
        isUsed = false
    }
}

/// Bounds of ranges of keys.
enum KeyRange {
    /// The least key above all that begin with `prefix`; nil where there is none.
    static func upper(of prefix: [UInt8]) -> [UInt8]? {
        var upper = prefix
        while let byte = upper.last {
            if byte < .max {
                upper[upper.count - 1] = byte + 1
                return upper
            }
            upper.removeLast()
        }
        return nil
    }
}
