public import TapedeckModel
public import TapedeckProjections

/// An index of the texts of another projection, for `VideoQueries.search`.
///
/// It folds what the other one folds and keeps the same states and items, so that what is found is told from
/// here alone; its rows are those of the index. A store keeps it once somebody searches (`isOnDemand`).
///
/// # Rows
///
/// Of each kind of things that are found there is a table by term, and of most kinds one by the first letters:
///
/// | table | key |
/// |---|---|
/// | `…-terms` | term, 0, weight of the field, place |
/// | `…-starts` | first three letters of a longer term, 0, weight, place |
///
/// A thing's **place** is its time, the latest first, and its name. So whatever is in one field by one term lies
/// side by side in the order in which it is told, and of a beginning that very many terms have, too: the first
/// page of it needs no look at the others. A comment has no rows by the first letters: there may be very many of
/// them, and they come last.
public struct SearchIndex<Base: Projection>: Projection {
    /// What is known of the things; that of `Base`.
    public typealias State = Base.State

    /// `search-` and the name of what is searched.
    public let name: String
    /// That of what is taken of the things; what is searched has its own among the parameters.
    public let version: Int
    /// The version and the parameters of what is searched.
    public let parameters: String
    let base: Base
    /// The kinds of its things, in the order of their tables.
    let kinds: [SearchHit.Kind]
    /// The things that a state tells of.
    let things: @Sendable (Base.State, Tag) -> [SearchThing]
    /// The thing that an item tells of.
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

    /// That of what is searched.
    public var tagKind: String { base.tagKind }
    /// Those of what is searched.
    public var events: [any Event.Type] { base.events }
    /// Their names.
    public var eventTypes: [EventType] { base.eventTypes }
    /// That of what is searched.
    public var law: FoldLaw { base.law }
    /// That of what is searched.
    public var schemaVersionMax: UInt16 { base.schemaVersionMax }
    /// The rule of what is searched, in a sentence.
    public var ruleText: String? {
        let indexed =
            "The words of what \(base.name) shows are rows, without case and accents."
        return base.ruleText.map { "\(indexed) \($0)" } ?? indexed
    }
    /// By term, and by the first letters.
    public var tables: [String] { kinds.flatMap(\.tables) }
    /// Yes.
    public var isOnDemand: Bool { true }
    /// No: nobody follows an index, but what is found by it.
    public var rowsAreFollowed: Bool { false }
    /// Yes: what is found is followed by these.
    public var statesAreFollowed: Bool { true }
    /// All in which something may be found.
    public var followedItems: [[UInt8]] { thingOfItem == nil ? [] : CommentItems.lists }
    /// Where items are found.
    public var itemsYieldRows: Bool { thingOfItem != nil }

    /// Folds as what is searched does.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        try base.fold(event, into: &key)
    }

    /// Rows for each word of the texts.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for thing in things(state, key) { add(thing, to: &rows) }
    }

    /// Rows for each word of the item's texts.
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

    /// The table of a kind's terms; where there are starts, theirs is the next.
    func firstTable(of kind: SearchHit.Kind) -> Int {
        kinds.prefix { $0 != kind }.reduce(0) { $0 + ($1.hasStarts ? 2 : 1) }
    }
}

/// What the keys of a thing's rows begin with.
private struct SearchFronts {
    /// One behind the other.
    private var bytes: [UInt8] = []
    private var ranges: [Range<Int>] = []

    init() {
        // Those of a short text.
        bytes.reserveCapacity(128)
        ranges.reserveCapacity(12)
    }

    mutating func add(_ term: ArraySlice<UInt8>, _ weight: UInt8) {
        let start = bytes.count
        SearchRow.append(term, weight, to: &bytes)
        ranges.append(start..<bytes.count)
    }

    /// Each once, in their order.
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

/// The rows of an index.
enum SearchRow {
    /// Terms of which there may be very many have rows by so many letters.
    static let lettersPerStart = 3

    /// What the keys of the rows of a term, or of a start, begin with in fields of one weight.
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

    /// The first letters of a term, or all of one that has no more.
    static func start(of term: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        SearchText.prefix(term, letters: lettersPerStart)
    }

    /// How many letters a term has.
    static func count(of term: [UInt8]) -> Int {
        term.count { $0 & 0xC0 != 0x80 }
    }

    /// What sorts behind all keys that begin so: no byte of a term or a weight is the greatest.
    static func end(of start: [UInt8]) -> [UInt8] { start.dropLast() + [(start.last ?? 0) + 1] }

    /// The term, or the start, of a row.
    static func term(ofKey key: [UInt8]) -> [UInt8] { Array(key.prefix { $0 != 0 }) }
}
