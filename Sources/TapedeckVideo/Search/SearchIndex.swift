public import TapedeckModel
public import TapedeckProjections

/// A full-text index of another projection, for `VideoQueries.search`.
///
/// The index folds the same events as the other projection and keeps the same states and items, so
/// results can be built from the index alone; only the rows differ. A store builds the index at the
/// first search, and maintains it after that (`isOnDemand`).
///
/// # Rows
///
/// Each kind of result has a table of terms, and most kinds also have a table of term beginnings:
///
/// | table | key |
/// |---|---|
/// | `…-terms` | term, 0, weight of the field, place |
/// | `…-starts` | first three letters of a longer term, 0, weight, place |
///
/// The **place** of a result in the list of results consists of its time, latest first, and its
/// name. Matches of one term in fields of the same weight are therefore adjacent and in result
/// order, and so are matches of a short prefix that many terms share. The first page of results
/// reads no other rows. Comments have no table of beginnings, because there may be very many of
/// them and they come last in the results.
public struct SearchIndex<Base: Projection>: Projection {
    /// The state of `Base`.
    public typealias State = Base.State

    /// `search-`, followed by the name of the indexed projection.
    public let name: String
    /// The version of the rules that extract the text; `parameters` contains the version of the
    /// indexed projection.
    public let version: Int
    /// The version and the parameters of the indexed projection.
    public let parameters: String
    let base: Base
    /// The kinds of indexed things, in the order of their tables.
    let kinds: [SearchHit.Kind]
    /// Returns the indexed things that a state contains.
    let things: @Sendable (Base.State, Tag) -> [SearchThing]
    /// Returns the indexed thing that an item contains; nil if it contains none.
    let thingOfItem: (@Sendable (Row, Tag) throws -> SearchThing?)?

    init(
        _ base: Base, version: Int = 1, _ kinds: [SearchHit.Kind],
        things: @escaping @Sendable (Base.State, Tag) -> [SearchThing],
        thingOfItem: (@Sendable (Row, Tag) throws -> SearchThing?)? = nil
    ) {
        name = "search-\(base.name)"
        parameters =
            "\(base.name)=\(base.version)"
            + (base.parameters.isEmpty ? "" : ",\(base.parameters)")
        (self.base, self.version, self.kinds) = (base, version, kinds)
        (self.things, self.thingOfItem) = (things, thingOfItem)
    }

    /// The tag kind of the indexed projection.
    public var tagKind: String { base.tagKind }
    /// The events of the indexed projection.
    public var events: [any Event.Type] { base.events }
    /// The event types of the indexed projection.
    public var eventTypes: [EventType] { base.eventTypes }
    /// The fold law of the indexed projection.
    public var law: FoldLaw { base.law }
    /// The maximum schema version of the indexed projection.
    public var schemaVersionMax: UInt16 { base.schemaVersionMax }
    /// The indexed projection's rule, preceded by a sentence about the index.
    public var ruleText: String? {
        let indexed =
            "The index of the words in \(base.name) ignores case and accents."
        return base.ruleText.map { "\(indexed) \($0)" } ?? indexed
    }
    /// The tables of terms and of term beginnings, kind by kind.
    public var tables: [String] { kinds.flatMap(\.tables) }
    /// True, so that a store that is never searched does not maintain the index.
    public var isOnDemand: Bool { true }
    /// False, because observers follow the results, not the index.
    public var rowsAreFollowed: Bool { false }
    /// True, because a live search observes the states of its results.
    public var statesAreFollowed: Bool { true }
    /// The items that may contain results.
    public var followedItems: [[UInt8]] { thingOfItem == nil ? [] : CommentItems.lists }
    /// Whether items contain results.
    public var itemsYieldRows: Bool { thingOfItem != nil }

    /// Folds the event as the indexed projection does.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        try base.fold(event, into: &key)
    }

    /// Adds rows for each word in the text of a state.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for thing in things(state, key) { add(thing, to: &rows) }
    }

    /// Adds rows for each word in the text of an item.
    public func rows(ofItem item: Row, key: Tag, into rows: inout RowSink) throws {
        if let thing = try thingOfItem?(item, key) { add(thing, to: &rows) }
    }

    private func add(_ thing: SearchThing, to rows: inout RowSink) {
        let table = firstTable(of: thing.kind)
        var (terms, starts) = (SearchFronts(), SearchFronts())
        for text in thing.texts where text.isSearched {
            let (folded, weight) = (text.folded, text.field.weight)
            for range in folded.terms {
                let term = folded.bytes[range]
                terms.add(term, weight)
                guard thing.kind.hasStarts else { continue }
                let start = SearchRow.start(of: term)
                if start.count < term.count { starts.add(start, weight) }
            }
        }
        terms.forEach { rows.add(table: table, key: $0, thing.place.bytes) }
        starts.forEach { rows.add(table: table + 1, key: $0, thing.place.bytes) }
    }

    /// Returns the index of the table of a kind's terms, which precedes the kind's table of term
    /// beginnings, if any.
    func firstTable(of kind: SearchHit.Kind) -> Int {
        kinds.prefix { $0 != kind }.reduce(0) { $0 + ($1.hasStarts ? 2 : 1) }
    }
}

/// The key prefixes of a thing's rows.
private struct SearchFronts {
    /// The concatenated prefixes.
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>] = []

    init() {
        // This capacity is enough for a short text.
        bytes.reserveCapacity(128)
        ranges.reserveCapacity(12)
    }

    mutating func add(_ term: ArraySlice<UInt8>, _ weight: UInt8) {
        let start = bytes.count
        SearchRow.append(term, weight, to: &bytes)
        ranges.append(start..<bytes.count)
    }

    /// Calls a closure with each distinct prefix, in order.
    func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var last = UnsafeRawBufferPointer(rebasing: bytes[..<0])
            let fronts = ranges.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
            for front in fronts.sorted(by: { $0.precedes($1) }) where last.precedes(front) {
                body(front)
                last = front
            }
        }
    }
}

/// The format of the rows of an index.
enum SearchRow {
    /// The number of first letters by which longer terms are also indexed.
    static let lettersPerStart = 3

    /// Returns the key prefix of the rows for a term, or for the beginning of a term, in fields of
    /// the same weight.
    static func key(_ term: [UInt8], _ weight: UInt8) -> [UInt8] {
        var key: [UInt8] = []
        append(term[...], weight, to: &key)
        return key
    }

    static func append(_ term: ArraySlice<UInt8>, _ weight: UInt8, to key: inout [UInt8]) {
        key.append(contentsOf: term)
        key.append(0)
        key.append(weight)
    }

    /// Returns the first letters of a term, or the whole term if it is short.
    static func start(of term: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        SearchText.prefix(term, letters: lettersPerStart)
    }

    /// Returns the number of letters in a term.
    static func count(of term: [UInt8]) -> Int {
        term.count { $0 & 0xC0 != 0x80 }
    }

    /// Returns a key that sorts after all keys with this prefix.
    ///
    /// The last byte can be incremented because terms and weights contain no byte 255.
    static func end(of start: [UInt8]) -> [UInt8] { start.dropLast() + [(start.last ?? 0) + 1] }

    /// Returns the term, or the beginning of a term, in the key of a row.
    static func term(ofKey key: [UInt8]) -> [UInt8] { Array(key.prefix { $0 != 0 }) }
}
