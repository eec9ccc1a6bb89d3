public import TapedeckModel

/// A pure fold of events into rows, which queries read from tables.
///
/// A projection groups events by their tags of one kind. Each of these tags is a **key** with its
/// own state. The runner passes the events of a key to the projection, which folds them into the
/// state; the projection then derives rows from the state. Folds use no clock, randomness or I/O,
/// so equal events produce equal bytes on every machine. Two values of one type with the same name,
/// version and parameters are the same projection, so all their other properties must also be
/// equal.
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
    /// The state of a key.
    associatedtype State: ProjectionState

    /// The name of the projection, as used in `storectl replay NAME` and in digests.
    var name: String { get }
    /// The version; raise it whenever equal events would produce different rows.
    var version: Int { get }
    /// The values, apart from the version, on which the fold depends, as one canonical string;
    /// empty if there are none.
    var parameters: String { get }
    /// The kind of the tags that serve as keys.
    var tagKind: String { get }
    /// The Swift types of the events to fold; `FoldEvent.typeIndex` is an index into this list.
    ///
    /// The fold receives each payload in the newest schema of its type. Older payloads are first
    /// converted by `Event.upcasters`. Events with payloads in newer schemas are kept in the log; a
    /// program that knows these schemas folds them later.
    var events: [any Event.Type] { get }
    /// The names of the event types to fold, in the order of `FoldEvent.typeIndex`; by default, the
    /// names of the types in `events`.
    ///
    /// List names here to fold events for which the program has no Swift types. The fold receives
    /// the payloads of these events as recorded.
    var eventTypes: [EventType] { get }
    /// The order in which the fold requires a key's events.
    var law: FoldLaw { get }
    /// The newest schema version that the fold can read, for events listed by name only.
    ///
    /// Events with a newer version are kept in the log; a program that knows this version folds
    /// them later.
    var schemaVersionMax: UInt16 { get }
    /// A sentence that explains how events determine the state of a key; nil if there is none.
    ///
    /// `storectl explain` prints the sentence above the deciding events.
    var ruleText: String? { get }
    /// The names of the row tables; `RowSink.add(table:)` takes an index into this list.
    var tables: [String] { get }

    /// Folds one event into the state of its key.
    ///
    /// If this method throws, the key is frozen in its previous state and reported as frozen; other
    /// keys are not affected.
    func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws

    /// Adds the rows of a state, which can then be read in an order other than by key.
    ///
    /// A row key must be unique in its table, also among the rows of other keys, so end it with
    /// `key.name`. If a key yields several rows with the same row key, only the last row is kept.
    /// The method is called once per key and batch; its result must depend only on the state and
    /// the key.
    func rows(of state: State, key: Tag, into rows: inout RowSink)

    /// Whether items yield rows, in addition to the rows of the state.
    var itemsYieldRows: Bool { get }

    /// Adds the rows of one item. The cost of a batch then depends only on the items that it
    /// changes, even if the key has very many rows.
    ///
    /// The method is called only if `itemsYieldRows` is true. The rows belong to this item alone:
    /// neither the state nor another item may yield a row with the same key. Throw an error if the
    /// bytes of the item are invalid.
    func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws

    /// The name prefixes of the items that can be followed with
    /// `RowRange.init(of:itemsOf:prefix:)`.
    ///
    /// Commits report the changes to items with these prefixes.
    var followedItems: [[UInt8]] { get }

    /// Whether states can be followed with `RowRange.init(of:stateOf:)` and
    /// `RowRange.init(keysOf:)`.
    ///
    /// If true, commits report the keys whose states they change.
    var statesAreFollowed: Bool { get }

    /// Whether compaction may remove events that the projection folds but that do not affect the
    /// result.
    ///
    /// If true, the state row of a key under the canonical law does not store the number of folded
    /// events.
    var foldsCompacted: Bool { get }

    /// Whether rows can be followed with `ProjectionRunner.observe` and `LiveQuery`.
    ///
    /// If true, commits report the rows they change. Return false for an index that has no
    /// observers: its reports would only push other reports out of the ring, so that observers of
    /// other rows would receive resets sooner.
    var rowsAreFollowed: Bool { get }

    /// Whether the store maintains the projection only after a read or rebuild has named it.
    ///
    /// Return true for an index that many programs never read. Until the index is first used, calls
    /// that name no projections skip it. Afterwards, it is maintained like any other projection.
    var isOnDemand: Bool { get }
}

extension Projection {
    /// Empty.
    public var parameters: String { "" }
    /// Empty by default; a projection without Swift types lists its events by name in `eventTypes`.
    public var events: [any Event.Type] { [] }
    /// By default, the names of the types in `events`.
    public var eventTypes: [EventType] { events.map { $0.eventType } }
    /// `FoldLaw.canonical`.
    public var law: FoldLaw { .canonical }
    /// By default 1, which is correct until the schema of a payload changes.
    public var schemaVersionMax: UInt16 { 1 }
    /// Nil.
    public var ruleText: String? { nil }
    /// By default, there are no tables, and states can be looked up only by key.
    public var tables: [String] { [] }
    /// Adds no rows.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {}
    /// False.
    public var itemsYieldRows: Bool { false }
    /// Adds no rows.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {}
    /// Empty.
    public var followedItems: [[UInt8]] { [] }
    /// False.
    public var statesAreFollowed: Bool { false }
    /// False.
    public var foldsCompacted: Bool { false }
    /// True.
    public var rowsAreFollowed: Bool { true }
    /// By default, the store maintains the projection from the first read on.
    public var isOnDemand: Bool { false }
}

/// The order in which a fold requires a key's events.
public enum FoldLaw: Sendable {
    /// Canonical order (`FoldOrder`); if an event arrives late, the runner folds the key again.
    ///
    /// Canonical order is the default, and is right for every ordinary fold.
    case canonical
    /// Any order; the state does not depend on the order unless the fold requests a refold.
    ///
    /// If the result may depend on the order, the fold calls `KeyedState.requestRefold()`, and the
    /// key is folded again in canonical order. Use this law for keys with very many events; the
    /// order test suite checks that the fold obeys it. A fact observed by several origins is folded
    /// once per origin; under `.canonical`, it is folded once.
    case any
}

/// The state of a key between events; equal states must have equal bytes.
public protocol ProjectionState: Sendable {
    /// The state before the first event.
    init()
    /// Creates a state from the output of `encode`.
    init(decoding bytes: inout StateReader) throws
    /// Writes the state; equal states must write equal bytes.
    func encode(into bytes: inout StateWriter)
}

/// Collects the rows of one key.
public struct RowSink: ~Copyable {
    /// The bytes of all rows, one after another; see `entries`.
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
        // Release the memory of an unusually large key.
        let isKept = bytes.capacity <= RowSink.bytesKeptMax
        bytes.removeAll(keepingCapacity: isKept)
        entries.removeAll(keepingCapacity: isKept)
    }

    private static let bytesKeptMax = 1 << 20

    /// Adds a row to the table at index `table`.
    ///
    /// - Parameters:
    ///   - key: The key by which the table is sorted, byte by byte; see `RowKey`. A key longer than
    ///     500 bytes is truncated and ends with a hash.
    ///   - value: The value, which list queries return without another lookup.
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

    /// Adds a row that has no value and whose key consists of two parts, without building a
    /// `RowKey`.
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

    /// The maximum number of rows to compare pairwise, which needs no extra memory.
    private static let comparedMax = 16

    /// Removes each row that is followed by a row with the same table and key, as if the rows were
    /// written one after another.
    package mutating func keepLast() {
        // Index rows are usually in ascending order already, without duplicates.
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

    /// Sorts the rows by table and key; if several rows have the same key, only the last is kept.
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
                // Rows are stored in the order in which they were added.
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

    /// Whether the rows are sorted by table and key, without duplicates.
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

/// The key of a row, built from parts that are encoded so that their bytes sort like their values.
public struct RowKey: Sendable {
    /// The bytes of all parts added so far.
    @inlinable public var bytes: [UInt8] { storage }
    @usableFromInline var storage: [UInt8] = []

    /// The maximum length of a key in bytes; LMDB allows 511.
    @inlinable public static var lengthMax: Int { 500 }

    /// An empty key.
    @inlinable
    public init() { storage.reserveCapacity(48) }

    /// Creates a key from the bytes of an existing one, such as a cursor.
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
    /// Adds a string as UTF-8, terminated by a zero byte.
    ///
    /// A byte with the value 0 or 1 in the string is written as 1 followed by the value plus one,
    /// so different strings give different keys and the byte order is preserved.
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
    /// Adds a substring; see `text(_:)`.
    public consuming func text(_ value: Substring) -> RowKey { text(String(value)) }
    /// Adds raw bytes, which must be the last part.
    public consuming func raw(_ value: [UInt8]) -> RowKey {
        storage.append(contentsOf: value)
        return cut()
    }
    /// Adds raw bytes, which must be the last part.
    public consuming func raw(_ value: some Sequence<UInt8>) -> RowKey { raw(Array(value)) }

    @inlinable
    consuming func cut() -> RowKey {
        if storage.count > RowKey.lengthMax { shorten() }
        return self
    }

    @usableFromInline
    mutating func shorten() {
        // The fast hash is not sufficient, because two long strings crafted to collide would share
        // one row.
        let digest = Digest16(hashing: storage)
        storage.removeLast(storage.count - (RowKey.lengthMax - 16))
        storage.appendBigEndian(digest.high)
        storage.appendBigEndian(digest.low)
    }
}
