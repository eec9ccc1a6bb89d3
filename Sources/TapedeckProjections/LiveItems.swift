internal import TapedeckLMDB

/// A key's items as a fold sees them: those that are stored, and over them what the fold has changed.
///
/// Nothing is written here: `forEachChange` tells what is to be, and a fold that fails half-way is undone by
/// beginning again.
final class LiveItems: ItemStore {
    private let transaction: TransactionAlias
    private var table: Table?
    /// The key's bytes, and behind them the name that is looked up.
    private var place: [UInt8] = []
    private var keyCount = 0
    private let written = MemoryItems()
    private var removed: Set<[UInt8]> = []
    /// What was looked up, in place: a fold asks for most of what it then changes.
    private var known: [(name: [UInt8], value: UnsafeRawBufferPointer?)] = []
    /// Of so many items it is remembered; it is searched from front to end.
    private static let knownMax = 8
    /// Whether the key is folded from nothing: what is stored does not count.
    private var isFromNothing = false
    /// The protocol that a fold sees cannot throw; what LMDB said is thrown when the fold is over.
    private var failure: (any Error)?

    init(_ transaction: TransactionAlias) { self.transaction = transaction }

    /// Begins with a key; nothing of another one is remembered.
    ///
    /// - Parameter isNew: whether the key has no items yet; then none are looked for.
    func begin(_ table: Table, _ key: ViewKey, isNew: Bool) {
        self.table = isNew ? nil : table
        place.removeAll(keepingCapacity: true)
        place += key.bytes
        keyCount = place.count
        known.removeAll(keepingCapacity: true)
        begin(fromNothing: false)
    }

    /// Forgets what was changed.
    ///
    /// - Parameter isFromNothing: whether what is stored does not count from now on.
    func begin(fromNothing isFromNothing: Bool) {
        written.removeAll()
        if !removed.isEmpty { removed.removeAll() }
        self.isFromNothing = isFromNothing
    }

    /// Throws what LMDB said to a fold.
    func check() throws {
        guard let failure else { return }
        self.failure = nil
        throw failure
    }

    private func attempt<R>(_ otherwise: R, _ body: () throws -> R) -> R {
        do {
            return try body()
        } catch {
            if failure == nil { failure = error }
            return otherwise
        }
    }

    /// Calls `body` with the table and the place of an item in it, if the key has any there.
    @inline(__always)
    private func lookUp<R>(
        _ name: some Collection<UInt8>, _ body: (Table, [UInt8]) throws -> R?
    ) rethrows -> R? {
        guard let table else { return nil }
        place.removeLast(place.count - keyCount)
        place.append(contentsOf: name)
        return try body(table, place)
    }

    private func stored(_ name: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        guard table != nil else { return nil }
        for item in known where item.name.withUnsafeBytes({ $0.holdsSame(as: name) }) {
            return item.value
        }
        let value = try lookUp(name) { try transaction.get($0, $1) }
        if known.count < LiveItems.knownMax { known.append((Array(name), value)) }
        return value
    }

    // MARK: - What a fold sees

    var isUsed: Bool {
        written.isUsed || !isFromNothing && attempt(nil, { try firstStored([]) }) != nil
    }

    func get(_ name: [UInt8]) -> [UInt8]? {
        if written.count > 0, let value = written.get(name) { return value }
        if isFromNothing || !removed.isEmpty && removed.contains(name) { return nil }
        return attempt(nil) { try name.withUnsafeBytes { try stored($0) }.map { Array($0) } }
    }

    func set(_ name: [UInt8], _ value: [UInt8]) {
        if !removed.isEmpty { removed.remove(name) }
        written.set(name, value)
    }

    func remove(_ name: [UInt8]) {
        written.remove(name)
        if !isFromNothing { removed.insert(name) }
    }

    func clear() { begin(fromNothing: true) }

    func first(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        let held = written.first(prefix)
        guard !isFromNothing, let stored = attempt(nil, { try firstStored(prefix) }) else {
            return held
        }
        guard let held else { return stored }
        return stored.name.lexicographicallyPrecedes(held.name) ? stored : held
    }

    func last(_ prefix: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        let held = written.last(prefix)
        guard !isFromNothing, let stored = attempt(nil, { try lastStored(prefix) }) else {
            return held
        }
        guard let held else { return stored }
        return held.name.lexicographicallyPrecedes(stored.name) ? stored : held
    }

    /// The first of what is stored and was not removed.
    private func firstStored(_ prefix: [UInt8]) throws -> (name: [UInt8], value: [UInt8])? {
        try lookUp(prefix) { table, start in
            let cursor = try transaction.cursor(table)
            var found = try cursor.seek(start)
            while let entry = found, entry.key.starts(with: start) {
                let name = Array(entry.key[keyCount...])
                if !removed.contains(name) { return (name, Array(entry.value)) }
                found = try cursor.next()
            }
            return nil
        }
    }

    /// The last of what is stored and was not removed.
    private func lastStored(_ prefix: [UInt8]) throws -> (name: [UInt8], value: [UInt8])? {
        try lookUp(prefix) { table, start in
            let cursor = try transaction.cursor(table)
            var found =
                if let upper = KeyRange.upper(of: start) {
                    try cursor.lastBelow(upper)
                } else {
                    try cursor.last()
                }
            while let entry = found, entry.key.starts(with: start) {
                let name = Array(entry.key[keyCount...])
                if !removed.contains(name) { return (name, Array(entry.value)) }
                found = try cursor.previous()
            }
            return nil
        }
    }

    // MARK: - What has changed

    /// Calls `body` with each item that is not as it is stored, as it was and as it is.
    func forEachChange(
        _ body: (
            _ name: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
            _ after: UnsafeRawBufferPointer?
        ) throws -> Void
    ) throws {
        if isFromNothing { try removeStored() }
        try written.forEach { name, value in
            let before = try stored(name)
            guard before.map({ !$0.holdsSame(as: value) }) ?? true else { return }
            try body(name, before, value)
        }
        for name in removed.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try name.withUnsafeBytes { name in
                if let before = try stored(name) { try body(name, before, nil) }
            }
        }
    }

    /// Removes what is stored and was not made again from nothing.
    private func removeStored() throws {
        _ = try lookUp([]) { table, start -> Void? in
            let cursor = try transaction.cursor(table)
            var found = try cursor.seek(start)
            while let entry = found, entry.key.starts(with: start) {
                let name = Array(entry.key[keyCount...])
                if written.get(name) == nil { removed.insert(name) }
                found = try cursor.next()
            }
            return nil
        }
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
