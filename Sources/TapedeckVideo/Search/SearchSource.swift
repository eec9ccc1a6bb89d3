internal import TapedeckModel
internal import TapedeckProjections

/// The things of one kind in one index, as read by a search.
final class SearchSource {
    /// The source's number; ties are broken in favor of the source with the lowest number.
    let number: UInt8
    let kind: SearchHit.Kind
    /// The index to read from.
    let index: any Projection
    private let terms: Int
    private let starts: Int?
    /// The weights of the fields that are searched.
    let weights: Set<UInt8>
    private let read: (_ table: Int, _ lower: [UInt8], _ upper: [UInt8], Int) throws -> [Row]
    /// Returns the searchable things in a key's state or, if an item is given, in that item.
    private let things: (_ key: Tag, _ item: [UInt8]?) throws -> [SearchThing]
    /// A cache of the terms that begin with a word.
    private var longer: [[UInt8]: [[UInt8]]] = [:]

    init(
        _ number: UInt8, _ kind: SearchHit.Kind, of index: any Projection, firstTable: Int,
        read: @escaping (Int, [UInt8], [UInt8], Int) throws -> [Row],
        things: @escaping (Tag, [UInt8]?) throws -> [SearchThing]
    ) {
        (self.number, self.kind, self.index) = (number, kind, index)
        terms = firstTable
        starts = kind.hasStarts ? firstTable + 1 : nil
        weights = Set(kind.fields.map(\.weight))
        self.read = read
        self.things = things
    }

    /// Returns the key of the thing at a place and, for a comment, the name of the comment's item;
    /// nil if the place is invalid.
    func part(at place: SearchPlace) -> (key: Tag, item: [UInt8]?)? {
        guard let name = place.name else { return nil }
        let key = Tag(unchecked: index.tagKind + "/" + name)
        guard kind == .comment else { return (key, nil) }
        return place.itemName.map { (key, $0.bytes) }
    }

    /// Returns the thing at a place; nil if there is none.
    func thing(_ place: SearchPlace) throws -> SearchThing? {
        guard let (key, item) = part(at: place) else { return nil }
        return try things(of: key, item: item).first { $0.place == place }
    }

    /// Returns the searchable entries of this kind in a state or an item.
    func things(of key: Tag, item: [UInt8]?) throws -> [SearchThing] {
        guard (kind == .comment) == (item != nil) else { return [] }
        return try things(key, item).filter { $0.kind == kind }
    }

    /// Returns streams of the places that may match a word in fields of the given weights; a match
    /// must be in all streams.
    ///
    /// - Parameter isLonger: Whether the word may be the beginning of a longer one.
    func streams(
        of word: SearchWords.Word, isLonger: Bool, weights: [UInt8]
    ) throws -> [SearchStream] {
        if word.isUnspaced {
            let pairs = SearchText.pairs(of: word.bytes[...]).map { Array(word.bytes[$0]) }
            // The last element is the last letter alone. The pair before it already contains this
            // letter, so search for the letter only if it is the entire word.
            if pairs.count > 1 { return pairs.dropLast().map { stream([(terms, $0)], weights) } }
        }
        let term = Array(SearchText.term(word.bytes[...]))
        // Every letter of a script without spaces begins a term, so search for the terms that begin
        // with this letter.
        guard isLonger || word.isUnspaced else { return [stream([(terms, term)], weights)] }
        return [stream(try tables(ofLonger: term), weights)]
    }

    private func stream(
        _ tables: [(table: Int, term: [UInt8])], _ weights: [UInt8]
    ) -> SearchStream {
        SearchStream(
            tables.flatMap { table, term in
                weights.map { weight in
                    SearchRun(SearchRow.key(term, weight), countMin: tables.count > 8 ? 1 : 24) {
                        [read] in try read(table, $0, $1, $2)
                    }
                }
            })
    }

    /// Returns the tables and prefixes to read in order to find a term and all longer terms that
    /// begin with it.
    private func tables(ofLonger term: [UInt8]) throws -> [(table: Int, term: [UInt8])] {
        guard let starts, SearchRow.count(of: term) <= SearchRow.lettersPerStart else {
            return try terms(beginningWith: term).map { (terms, $0) }
        }
        let heads =
            SearchRow.count(of: term) == SearchRow.lettersPerStart
            ? [term] : try terms(beginningWith: term, cut: true)
        return heads.flatMap { [(terms, $0), (starts, $0)] }
    }

    /// Returns the terms that begin with another term; each result costs a lookup.
    ///
    /// - Parameter cut: Whether to shorten longer terms to their indexed beginnings.
    private func terms(
        beginningWith term: [UInt8], cut: Bool = false
    ) throws -> [[UInt8]] {
        if let known = longer[term] { return known }
        var found: [[UInt8]] = []
        var from = term
        let end = SearchRow.end(of: term)
        while let row = try read(terms, from, end, 1).first {
            var next = SearchRow.term(ofKey: row.key)
            if cut { next = Array(SearchRow.start(of: next[...])) }
            found.append(next)
            // Skip the rows of the term, or of all terms with this prefix.
            let isStart = cut && SearchRow.count(of: next) == SearchRow.lettersPerStart
            from = isStart ? SearchRow.end(of: next) : next + [1]
        }
        longer[term] = found
        return found
    }
}

/// A sequence of rows with the same key prefix, in key order; the rest of each key encodes a place
/// in the search order (`SearchPlace`).
struct SearchRun {
    private let prefix: [UInt8]
    private let read: (_ lower: [UInt8], _ upper: [UInt8], Int) throws -> [Row]
    /// The rows read last, and the index of the current row among them.
    private var rows: [Row] = []
    private var row = 0
    private var count: Int
    private var isWhole = false

    /// The maximum number of rows per read.
    private static let countMax = 256

    /// - Parameter countMin: The number of rows in the first read.
    init(
        _ prefix: [UInt8], countMin: Int,
        _ read: @escaping ([UInt8], [UInt8], Int) throws -> [Row]
    ) {
        (self.prefix, self.read, count) = (prefix, read, countMin)
    }

    /// The current place; nil at the end.
    var place: ArraySlice<UInt8>? { row < rows.count ? rows[row].key[prefix.count...] : nil }

    /// Advances to the first place at or after a target.
    mutating func seek(_ target: [UInt8]) throws {
        while let place {
            guard place.lexicographicallyPrecedes(target) else { return }
            row += 1
        }
        guard !isWhole else { return }
        (rows, row) = (try read(prefix + target, SearchRow.end(of: prefix), count), 0)
        isWhole = rows.count < count
        count = min(count * 4, SearchRun.countMax)
    }
}

/// The distinct places of several runs, in order.
struct SearchStream {
    /// A binary heap: the run at index `i` is at or before the runs at `2 * i + 1` and `2 * i + 2`.
    private var runs: [SearchRun]
    private var isOpen = false

    init(_ runs: [SearchRun]) { self.runs = runs }

    /// Returns the first place at or after a target; nil if there is none.
    mutating func place(from target: [UInt8]) throws -> [UInt8]? {
        if !isOpen {
            for index in runs.indices { try runs[index].seek(target) }
            runs.removeAll { $0.place == nil }
            for index in runs.indices.reversed() { sink(index) }
            isOpen = true
        }
        while let place = runs.first?.place, place.lexicographicallyPrecedes(target) {
            try runs[0].seek(target)
            if runs[0].place == nil {
                runs.swapAt(0, runs.count - 1)
                runs.removeLast()
            }
            sink(0)
        }
        return runs.first?.place.map { Array($0) }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < runs.count {
                if precedes(child, least) { least = child }
            }
            if least == index { return }
            runs.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        guard let left = runs[left].place, let right = runs[right].place else { return false }
        return left.lexicographicallyPrecedes(right)
    }
}

/// The things in one source that match with the same rank, in the order of their places.
struct SearchPass {
    let source: SearchSource
    private let words: SearchWords
    private let rank: SearchRank
    private var streams: [SearchStream]
    private var target: [UInt8]
    /// The current thing; nil at the end.
    private(set) var thing: SearchThing?

    /// Returns nil if nothing in the source can have this rank.
    ///
    /// - Parameter target: The place to start from.
    init?(
        _ source: SearchSource, _ words: SearchWords, _ rank: SearchRank, from target: [UInt8]
    ) throws {
        guard source.weights.contains(rank.weight), words.hasBeginning || !rank.isLonger else {
            return nil
        }
        (self.source, self.words, self.rank, self.target) = (source, words, rank, target)
        // A single word must match in a field of this weight. If there are several words, some may
        // match in fields with smaller weights, which rank higher.
        let weights =
            words.words.count == 1
            ? [rank.weight] : source.weights.filter { $0 <= rank.weight }.sorted()
        streams = try words.words.flatMap {
            try source.streams(
                of: $0, isLonger: $0.isBeginning && rank.isLonger, weights: weights)
        }
        try advance()
    }

    /// Advances to the next thing.
    mutating func advance() throws {
        thing = nil
        while let place = try nextPlace() {
            target = place + [0]
            guard let next = try source.thing(SearchPlace(place)), words.rank(of: next) == rank
            else { continue }
            thing = next
            return
        }
    }

    /// Returns the next place that all streams contain.
    private mutating func nextPlace() throws -> [UInt8]? {
        var agreed = 0
        var index = 0
        while agreed < streams.count {
            guard let place = try streams[index].place(from: target) else { return nil }
            if place != target {
                target = place
                agreed = 0
            }
            agreed += 1
            index = (index + 1) % streams.count
        }
        return target
    }
}
