public import TapedeckModel

/// A pure fold of events into rows: what is read, made of what happened.
///
/// A projection routes each event to the tags of one kind; each such tag is a **key** with a state of
/// its own. The runner gives a key its events, the projection folds them into the state, and the state
/// yields rows. Folds know no clock, no randomness and no I/O, so the same events give the same bytes
/// on every machine. Two values of one type that have the same name, version and parameters are one
/// projection: all else that it says of itself must be equal, too.
///
/// ```swift
/// struct PagesPerPrinter: Projection {
///     struct State: ProjectionState {
///         var pages: UInt64 = 0
///         init() {}
///         init(decoding bytes: inout StateReader) throws { pages = try bytes.uint64() }
///         func encode(into bytes: inout StateWriter) { bytes.add(pages) }
///     }
///     let name = "pages"
///     let version = 1
///     let tagKind = "printer"
///     let events: [any Event.Type] = [PagePrinted.self]
///     func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
///         key.state.pages += try event.decode(PagePrinted.self).pages
///     }
/// }
/// ```
public protocol Projection: Sendable {
    /// What a key remembers.
    associatedtype State: ProjectionState

    /// The name in `storectl replay NAME` and in digests.
    var name: String { get }
    /// Raised whenever equal events would give other rows.
    var version: Int { get }
    /// What the fold depends on besides its version, as one canonical text; empty for nothing.
    var parameters: String { get }
    /// The kind of the tags that are this projection's keys.
    var tagKind: String { get }
    /// The events that it wants, as types of the program; `FoldEvent.typeIndex` counts in this list.
    ///
    /// The fold meets each payload in its type's newest schema: older ones have gone through
    /// `Event.upcasters`, newer ones are kept and skipped until a program that knows them folds them.
    var events: [any Event.Type] { get }
    /// The names of the events that it wants, in the order of `FoldEvent.typeIndex`: those of `events`, unless
    /// the fold also wants some that the program has no types of. Of these it meets payloads as they stand.
    var eventTypes: [EventType] { get }
    /// What the fold needs of the order of a key's events.
    var law: FoldLaw { get }
    /// The newest payload schema that the fold reads of those that it wants by name only; events of a newer one
    /// are kept and skipped until a program that knows it folds them.
    var schemaVersionMax: UInt16 { get }
    /// By what rule events make a key what it is, in a sentence for people; nil where nobody has said.
    ///
    /// `storectl explain` prints it above the events that decided.
    var ruleText: String? { get }
    /// The names of its row tables; `RowSink.add(table:)` counts in this list.
    var tables: [String] { get }

    /// Folds one event into its key's state.
    ///
    /// It may throw: the key is then frozen at what it was, visibly, and nothing else is.
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws

    /// Lists the rows that a state yields, for look-up in other orders than by key.
    ///
    /// A row's key must be unique in its table over all keys: end it with the key's own name. Of rows
    /// that one key yields with the same key the last counts. Called once a key and batch; it must
    /// depend on the state and the key only.
    func rows(of state: State, key: Tag, into rows: inout RowSink)

    /// Whether items yield rows, too.
    var itemsYieldRows: Bool { get }

    /// Lists the rows that one of the key's items yields, so that a key with very many rows costs what
    /// a batch touches and not all of them.
    ///
    /// Asked where `itemsYieldRows` says so. Such a row is its item's alone: neither the state nor
    /// another item may yield a row of the same key. It throws where the item's bytes make no sense.
    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws

    /// What the names of the items begin with that can be followed (`RowRange.init(of:itemsOf:prefix:)`):
    /// commits tell what they change of these.
    var followedItems: [[UInt8]] { get }

    /// Whether states can be followed (`RowRange.init(of:stateOf:)`, `RowRange.init(keysOf:)`): commits tell
    /// of which keys they change them.
    var statesAreFollowed: Bool { get }

    /// Whether compaction may take away events that it folds, of which it would not miss one: what is kept of a
    /// key under the canonical law then does not tell of how many events it was folded.
    var foldsCompacted: Bool { get }

    /// Whether the rows can be followed (`ProjectionRunner.observe`, `LiveQuery`): commits tell what they
    /// change of these. An index that nobody follows would only overtake those who follow lists.
    var rowsAreFollowed: Bool { get }

    /// Whether a store keeps it only once somebody has asked for it by its name, in a read or a rebuild: for
    /// an index that many programs never look at.
    ///
    /// From then on it is kept as all others are. Where no projections are named, one that the store does not
    /// keep is left out.
    var isOnDemand: Bool { get }
}

extension Projection {
    /// None.
    public var parameters: String { "" }
    /// None: it wants all by name.
    public var events: [any Event.Type] { [] }
    /// Those of `events`.
    public var eventTypes: [EventType] { events.map { $0.eventType } }
    /// The runner keeps canonical order.
    public var law: FoldLaw { .canonical }
    /// 1, until a payload's schema changes.
    public var schemaVersionMax: UInt16 { 1 }
    /// Nobody has said.
    public var ruleText: String? { nil }
    /// None: the state is found by its key only.
    public var tables: [String] { [] }
    /// None.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {}
    /// No.
    public var itemsYieldRows: Bool { false }
    /// None.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {}
    /// None.
    public var followedItems: [[UInt8]] { [] }
    /// No.
    public var statesAreFollowed: Bool { false }
    /// No.
    public var foldsCompacted: Bool { false }
    /// Yes.
    public var rowsAreFollowed: Bool { true }
    /// No: it is kept from the first read on.
    public var isOnDemand: Bool { false }
}

/// What a fold needs of the order in which it meets a key's events.
public enum FoldLaw: Sendable {
    /// Canonical order (`FoldOrder`), always: an event that arrives late makes the runner fold the key
    /// again. The default, and right for every ordinary fold.
    case canonical
    /// Any order gives the same state, or the fold calls `KeyedState.requestRefold()` where it cannot
    /// tell; then the key is folded again in canonical order. For keys with very many events. The
    /// order suite holds a projection to it. A fact that several origins have seen alike comes once for
    /// each of them, while under `.canonical` it comes once.
    case any
}

/// A state that a key remembers between events, as bytes that are equal for equal states.
public protocol ProjectionState: Sendable {
    /// The state before the first event.
    init()
    /// Reads what `encode` wrote.
    init(decoding bytes: inout StateReader) throws
    /// Writes the state; equal states must write equal bytes.
    func encode(into bytes: inout StateWriter)
}

/// Collects the rows of one key.
public struct RowSink: ~Copyable {
    /// Bytes of all rows, one behind the other; see `entries`.
    @usableFromInline package var bytes: [UInt8] = []
    @usableFromInline
    package struct Entry {
        @usableFromInline package var table: Int
        @usableFromInline package var keyStart: Int
        @usableFromInline package var keyCount: Int
        @usableFromInline package var valueCount: Int

        @inlinable
        init(table: Int, keyStart: Int, keyCount: Int, valueCount: Int) {
            self.table = table
            self.keyStart = keyStart
            self.keyCount = keyCount
            self.valueCount = valueCount
        }
    }
    @usableFromInline package var entries: [Entry] = []

    package init() {}

    package mutating func removeAll() {
        // What one large key has taken is given back.
        let isKept = bytes.capacity <= RowSink.bytesKeptMax
        bytes.removeAll(keepingCapacity: isKept)
        entries.removeAll(keepingCapacity: isKept)
    }

    private static let bytesKeptMax = 1 << 20

    /// Adds a row to the `table`-th of the projection's tables.
    ///
    /// - Parameters:
    ///   - key: sorts the table by bytes; see `RowKey`. Longer than 500 bytes it is cut and ends in
    ///     a hash.
    ///   - value: what a list query returns without a second look-up.
    @inlinable
    public mutating func add(table: Int, key: RowKey, value: [UInt8] = []) {
        precondition((0...253).contains(table), "a projection has at most 254 tables")
        let start = bytes.count
        bytes.append(contentsOf: key.bytes)
        bytes.append(contentsOf: value)
        entries.append(
            Entry(
                table: table, keyStart: start, keyCount: key.bytes.count, valueCount: value.count))
    }

    /// Adds a row without a value, whose key is two parts one behind the other; without making a `RowKey`.
    package mutating func add(table: Int, key front: UnsafeRawBufferPointer, _ back: [UInt8]) {
        guard front.count + back.count <= RowKey.lengthMax else {
            return add(table: table, key: RowKey().raw(Array(front) + back))
        }
        let start = bytes.count
        bytes.append(contentsOf: front)
        bytes.append(contentsOf: back)
        entries.append(
            Entry(table: table, keyStart: start, keyCount: bytes.count - start, valueCount: 0))
    }

    /// Rows up to which each is compared with each: below it nothing needs to be remembered.
    private static let comparedMax = 16

    /// Keeps the last of the rows that have one key in one table, as putting them in turn would.
    package mutating func keepLast() {
        // As an index adds its rows.
        if isAscending { return }
        if entries.count <= RowSink.comparedMax {
            for index in entries.indices.dropLast().reversed()
            where entries[(index + 1)...].contains(where: { isSameRow($0, entries[index]) }) {
                entries.remove(at: index)
            }
            return
        }
        var seen: Set<[UInt8]> = []
        for index in entries.indices.reversed()
        where !seen.insert([UInt8(entries[index].table)] + key(of: entries[index])).inserted {
            entries.remove(at: index)
        }
    }

    /// Puts the rows in the order of their tables and keys; of those that have one key the last is kept.
    package mutating func sort() {
        if isAscending { return }
        bytes.withUnsafeBytes { bytes in
            func key(_ entry: Entry) -> UnsafeRawBufferPointer {
                let end = entry.keyStart + entry.keyCount
                return UnsafeRawBufferPointer(rebasing: bytes[entry.keyStart..<end])
            }
            entries.sort { left, right in
                if left.table != right.table { return left.table < right.table }
                let (leftKey, rightKey) = (key(left), key(right))
                if leftKey.precedes(rightKey) { return true }
                // Rows lie in the order in which they were added.
                return leftKey.holdsSame(as: rightKey) && left.keyStart < right.keyStart
            }
            var kept = 0
            for entry in entries {
                if kept > 0, entries[kept - 1].table == entry.table,
                    key(entries[kept - 1]).holdsSame(as: key(entry))
                {
                    kept -= 1
                }
                entries[kept] = entry
                kept += 1
            }
            entries.removeLast(entries.count - kept)
        }
    }

    /// Whether the rows come in the order of their tables and keys, none twice.
    private var isAscending: Bool {
        bytes.withUnsafeBytes { bytes in
            func key(_ entry: Entry) -> UnsafeRawBufferPointer {
                let end = entry.keyStart + entry.keyCount
                return UnsafeRawBufferPointer(rebasing: bytes[entry.keyStart..<end])
            }
            return entries.indices.dropFirst().allSatisfy { index in
                let (left, right) = (entries[index - 1], entries[index])
                return left.table < right.table
                    || left.table == right.table && key(left).precedes(key(right))
            }
        }
    }

    private func key(of entry: Entry) -> ArraySlice<UInt8> {
        bytes[entry.keyStart..<entry.keyStart + entry.keyCount]
    }

    private func isSameRow(_ left: Entry, _ right: Entry) -> Bool {
        left.table == right.table && left.keyCount == right.keyCount
            && key(of: left).elementsEqual(key(of: right))
    }
}

/// A row's key, built of parts whose byte order is their own order.
public struct RowKey: Sendable {
    /// The bytes so far.
    @inlinable public var bytes: [UInt8] { storage }
    @usableFromInline var storage: [UInt8] = []

    /// The longest key in bytes; LMDB takes 511.
    @inlinable public static var lengthMax: Int { 500 }

    /// An empty key.
    @inlinable
    public init() { storage.reserveCapacity(48) }

    /// A key that was built elsewhere, such as a cursor.
    package init(_ bytes: [UInt8]) { storage = bytes }

    /// Adds an unsigned number, ascending.
    @inlinable
    public consuming func ascending(_ value: UInt64) -> RowKey {
        Swift.withUnsafeBytes(of: value.bigEndian) { storage.append(contentsOf: $0) }
        return cut()
    }
    /// Adds a signed number, ascending.
    @inlinable
    public consuming func ascending(_ value: Int64) -> RowKey {
        ascending(UInt64(bitPattern: value) ^ (1 << 63))
    }
    /// Adds an unsigned number, descending.
    @inlinable
    public consuming func descending(_ value: UInt64) -> RowKey { ascending(~value) }
    /// Adds a signed number, descending.
    @inlinable
    public consuming func descending(_ value: Int64) -> RowKey {
        descending(UInt64(bitPattern: value) ^ (1 << 63))
    }
    /// Adds a text by its UTF-8, ended by a zero byte.
    ///
    /// A byte 0 or 1 inside is written as 1 and the byte plus one: so different texts give different
    /// keys, in the order of their bytes.
    @inlinable
    public consuming func text(_ value: String) -> RowKey {
        var value = value
        value.withUTF8 { utf8 in
            guard utf8.contains(where: { $0 <= 1 }) else {
                storage.append(contentsOf: utf8)
                return
            }
            for byte in utf8 {
                if byte <= 1 { storage.append(1) }
                storage.append(byte <= 1 ? byte + 1 : byte)
            }
        }
        storage.append(0)
        return cut()
    }
    /// Adds a part of a text; see `text(_:)`.
    public consuming func text(_ value: Substring) -> RowKey { text(String(value)) }
    /// Adds raw bytes; only as the last part.
    public consuming func raw(_ value: [UInt8]) -> RowKey {
        storage.append(contentsOf: value)
        return cut()
    }
    /// Adds raw bytes; only as the last part.
    public consuming func raw(_ value: some Sequence<UInt8>) -> RowKey { raw(Array(value)) }

    @inlinable
    consuming func cut() -> RowKey {
        if storage.count > RowKey.lengthMax { shorten() }
        return self
    }

    @usableFromInline
    mutating func shorten() {
        // Not the quick hash: two long texts made to collide would be one row.
        let digest = Digest16(hashing: storage)
        storage.removeLast(storage.count - (RowKey.lengthMax - 16))
        storage.appendBigEndian(digest.high)
        storage.appendBigEndian(digest.low)
    }
}
