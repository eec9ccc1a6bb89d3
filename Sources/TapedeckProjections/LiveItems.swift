internal import TapedeckLMDB

/// The items of a key as seen by a fold: the stored items, overlaid with the changes of the fold.
///
/// This class writes nothing; `forEachChange` lists the changes. To undo a fold that fails halfway,
/// call `begin` again.
final class LiveItems: ItemStore {
    private let transaction: TransactionAlias
    private var table: Table?
    /// The bytes of the key, followed by the name being looked up.
    private var place: [UInt8] = []
    private var keyCount = 0
    private let written = MemoryItems()
    private var removed: Set<[UInt8]> = []
    /// The recent lookups, remembered because a fold reads most items before it changes them.
    ///
    /// The values point into the memory map of the file.
    private var known: [(name: [UInt8], value: UnsafeRawBufferPointer?)] = []
    /// The maximum number of remembered lookups, which are searched linearly.
    private static let knownMax = 8
    /// Whether the key is folded from the start, ignoring stored items.
    private var isFromNothing = false
    /// The first LMDB error; `ItemStore` functions cannot throw, so `check()` throws the error
    /// after the fold.
    private var failure: (any Error)?

    init(_ transaction: TransactionAlias) { self.transaction = transaction }

    /// Starts with a new key and forgets the previous key.
    ///
    /// - Parameter isNew: Whether the key has no stored items; if true, no lookups are made.
    func begin(_ table: Table, _ key: ViewKey, isNew: Bool) {
        self.table = isNew ? nil : table
        place.removeAll(keepingCapacity: true)
        place += key.bytes
        keyCount = place.count
        known.removeAll(keepingCapacity: true)
        begin(fromNothing: false)
    }

    /// Discards the changes.
    ///
    /// - Parameter isFromNothing: Whether to ignore stored items from now on.
    func begin(fromNothing isFromNothing: Bool) {
        written.removeAll()
        if !removed.isEmpty { removed.removeAll() }
        self.isFromNothing = isFromNothing
    }

    /// Throws the first LMDB error of the fold if there was one.
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

    /// Calls `body` with the table of items and the key of an item in it; returns nil if the
    /// projection's key has no stored items.
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

    // MARK: - ItemStore

    var isUsed: Bool {
        written.isUsed || !isFromNothing && attempt(nil, { try firstStored([], from: []) }) != nil
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

    func first(_ prefix: [UInt8], from start: [UInt8]) -> (name: [UInt8], value: [UInt8])? {
        let held = written.first(prefix, from: start)
        guard !isFromNothing,
            let stored = attempt(nil, { try firstStored(prefix, from: start) })
        else { return held }
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

    /// Returns the first stored item, at or after `first`, that has not been removed.
    private func firstStored(
        _ prefix: [UInt8], from first: [UInt8]
    ) throws -> (name: [UInt8], value: [UInt8])? {
        try lookUp(prefix) { table, start in
            let cursor = try transaction.cursor(table)
            var found = try cursor.seek(start + first.dropFirst(prefix.count))
            while let entry = found, entry.key.starts(with: start) {
                let name = Array(entry.key[keyCount...])
                if !removed.contains(name) { return (name, Array(entry.value)) }
                found = try cursor.next()
            }
            return nil
        }
    }

    /// Returns the last stored item that has not been removed.
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

    // MARK: - Changes

    /// Calls `body` with each changed item, its old value and its new value.
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

    /// Marks stored items as removed if the fold has not set them again.
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

/// A namespace for computing the bounds of key ranges.
enum KeyRange {
    /// Returns the lowest key above all keys with the prefix; nil if there is none.
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
