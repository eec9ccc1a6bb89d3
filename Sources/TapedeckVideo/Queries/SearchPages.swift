public import TapedeckModel
public import TapedeckProjections

/// A page of what was found.
public struct SearchPage: Codable, Hashable, Sendable {
    /// What was found, the best first.
    public var hits: [SearchHit]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// Something that was found, with its texts.
public struct SearchHit: Codable, Hashable, Sendable {
    /// What is found.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A video that was shared, by its titles and its sharer.
        case video
        /// A video that was handed in, by its title and its owner.
        case submission
        /// What was said with a broadcast, or in a comment on a video or an answer.
        case comment
        /// A show, by its name and its network.
        case show
        /// A user, by the names.
        case user
        /// A question.
        case question
    }

    /// What it is.
    public var kind: Kind
    /// The video as `provider:id`; the id of the show, the user, the question or the comment.
    public var id: String
    /// What a comment is about: `video/provider:id` or `answer/id`; nil of all else.
    @NullWhenNil public var about: String?
    /// When a video was shared last or handed in, a comment made, a question asked from here; the first day of a show.
    @NullWhenNil public var at: UTCTime?
    /// Its texts, the one that tells most first.
    public var texts: [SearchedText]
}

/// A text of something that was found.
public struct SearchedText: Codable, Hashable, Sendable {
    /// What it is of the thing.
    public var field: SearchField
    /// The text.
    public var text: String
    /// Where the words stand in it that were searched; none where they are in other texts.
    public var matches: [SearchMatch]
}

/// A part of a text, in bytes of its UTF-8, as `text.utf8` counts them.
public struct SearchMatch: Codable, Hashable, Sendable {
    /// Where it begins.
    public var start: Int
    /// Where it ends, this byte not in it.
    public var end: Int
}

/// What a text is of a thing.
public enum SearchField: String, Codable, Sendable, CaseIterable {
    /// Of a video.
    case title
    /// What another broadcast of a video calls it; told where it is found by that.
    case otherTitle
    /// Of a show or a user.
    case name
    /// What is asked.
    case question
    /// Who shared a video.
    case sharer
    /// Who handed a video in, by the remote's name for the account.
    case owner
    /// Who said something.
    case author
    /// The network, or web channel, of a show.
    case network
    /// What was said.
    case comment
}

/// Where something is searched.
public enum SearchScope: String, Codable, Sendable, CaseIterable {
    /// Videos that were shared or handed in, and what was said with and about them, but in chats.
    case videos
    /// Shows.
    case shows
    /// Users.
    case users
    /// Questions, and what was said about answers.
    case questions
}

/// The limits of a search.
public enum SearchLimits {
    /// The longest text that can be searched, in UTF-8 bytes.
    public static let textBytesMax = 1_024
    /// The most words that can be searched together.
    public static let wordsMax = 16

    /// Throws `ModelError` for a text that cannot be searched: `.usage` where there is no word in it, `.tooLarge`
    /// where there is too much.
    public static func check(_ text: String) throws(ModelError) { _ = try SearchWords(text) }
}

extension VideoProjections {
    /// What a search reads: give their names to the read that it is in.
    ///
    /// - Parameter scope: where to search; nil for everywhere.
    public func searched(in scope: SearchScope? = nil) -> [any Projection] {
        switch scope {
        case .videos: [searchVideos, searchSubmissions]
        case .shows: [searchShows]
        case .users: [searchUsers]
        case .questions: [searchQuestions, searchUsers, searchAnswers]
        case nil:
            [
                searchVideos, searchSubmissions, searchShows, searchUsers, searchQuestions,
                searchAnswers,
            ]
        }
    }
}

extension VideoQueries {
    /// Finds videos, shows, users, questions and comments by words in their texts, the best first.
    ///
    /// ```swift
    /// let projections = VideoProjections.standard
    /// let page = try await store.query(projections.searched(in: .videos).map(\.name)) {
    ///     try VideoQueries($0).search("zoe car", in: .videos)
    /// }
    /// ```
    ///
    /// All words have to be in the texts of one thing, each a whole word but for the last, which may be the
    /// beginning of one. Case, accents and width do not matter. Words are runs of letters and digits; of scripts
    /// that are written without spaces any part of a run is found. What is found in a title, a name or a question
    /// comes first, then what is found by a sharer, an owner or an author, a network, and a comment; of these what has the
    /// last word whole; and then the latest. Of words in several fields the last of these counts.
    ///
    /// A video is found by the titles of all its broadcasts, one that was handed in as a submission, too. What is
    /// said in chats is not searched.
    ///
    /// The index is built by the first read that names it, and followed from then on. A page costs look-ups for
    /// what is on it, however much is found; several words that are each very common, and rarely together, cost
    /// a look at all that one of them finds. Throws `ModelError` with `.usage` where there is no word in the
    /// text, `.tooLarge` for a text beyond `SearchLimits`.
    ///
    /// - Parameters:
    ///   - text: the words.
    ///   - scope: where to search; nil for everywhere.
    ///   - limit: how many hits at the most.
    ///   - cursor: the `next` of the page before, of the same words and scope.
    public func search(
        _ text: String, in scope: SearchScope? = nil, limit: Int = QueryLimits.pageCountDefault,
        cursor: String? = nil
    ) throws -> SearchPage {
        try QueryLimits.check(limit)
        let words = try SearchWords(text)
        let name = words.name(in: scope)
        let after = try PageCursor.key(.search, cursor).map { key in
            guard key.starts(with: name) else {
                throw ModelError(
                    .usage, "the cursor belongs to another search",
                    hint: "give back the \"next\" of a page of the same words, in the same place")
            }
            return try SearchPosition(Array(key.dropFirst(name.count)))
        }
        let found = try found(words, in: scope, after: after, limit: limit + 1)
        let page = found.prefix(limit)
        let next = found.count > limit ? page.last?.position : nil
        return SearchPage(
            hits: page.map { SearchHit($0.thing, words) },
            next: next.map { PageCursor.text(.search, name + $0.bytes) })
    }

    /// What is found by words, the best first.
    ///
    /// - Parameter after: the position behind which it begins; nil for the front.
    func found(
        _ words: SearchWords, in scope: SearchScope?, after: SearchPosition?, limit: Int
    ) throws -> [(position: SearchPosition, source: SearchSource, thing: SearchThing)] {
        let sources = sources(in: scope)
        var found: [(SearchPosition, SearchSource, SearchThing)] = []
        for rank in SearchRank.all where after.map({ $0.rank <= rank }) ?? true {
            guard found.count < limit else { break }
            var passes = try sources.compactMap { source in
                try SearchPass(
                    source, words, rank, from: after?.target(of: source.number, in: rank) ?? [])
            }
            while found.count < limit, let best = SearchPass.first(of: passes),
                let thing = passes[best].thing
            {
                let source = passes[best].source
                found.append((SearchPosition(rank, source.number, thing.place), source, thing))
                try passes[best].advance()
            }
        }
        return found
    }

    func sources(in scope: SearchScope?) -> [SearchSource] {
        var sources: [SearchSource] = []
        func isSearched(_ wanted: SearchScope) -> Bool { scope == nil || scope == wanted }
        if isSearched(.videos) {
            sources.append(source(projections.searchVideos, .video, 0))
            sources.append(source(projections.searchVideos, .comment, 1, isOf: winner))
            sources.append(source(projections.searchSubmissions, .submission, 7))
        }
        if isSearched(.shows) { sources.append(source(projections.searchShows, .show, 2)) }
        if isSearched(.users) { sources.append(source(projections.searchUsers, .user, 3)) }
        if isSearched(.questions) {
            sources.append(source(projections.searchUsers, .question, 4))
            sources.append(source(projections.searchQuestions, .question, 5))
            sources.append(source(projections.searchAnswers, .comment, 6))
        }
        return sources
    }

    /// - Parameter owner: the broadcast that stands for what a key is about.
    private func source<Base>(
        _ index: SearchIndex<Base>, _ kind: SearchHit.Kind, _ number: UInt8,
        isOf owner: @escaping (Tag) throws -> [UInt8]? = { _ in nil }
    ) -> SearchSource {
        let reader = reader
        return SearchSource(number, kind, of: index, firstTable: index.firstTable(of: kind)) {
            table, lower, upper, limit in
            try reader.rows(
                of: index, table: table, lower: RowKey(lower), upper: RowKey(upper),
                after: nil, limit: limit)
        } things: { key, item in
            guard let item else {
                let state = try reader.state(of: index, key: key)
                return state.map { index.things($0, key) } ?? []
            }
            guard let find = index.thingOfItem,
                let value = try reader.item(of: index, key: key, name: RowKey(item)),
                var thing = try find(Row(key: item, value: value), key)
            else { return [] }
            // By the sharer the video itself is found.
            if let broadcast = thing.broadcast, try owner(key) == broadcast {
                thing.weightMin = SearchField.comment.weight
            }
            return [thing]
        }
    }

    /// The broadcast that gives a video its title and its sharer.
    private func winner(of video: Tag) throws -> [UInt8]? {
        try reader.state(of: projections.searchVideos, key: video)?.video.winner?.id
    }
}

/// Where something stands among all that is found.
package struct SearchPosition: Comparable {
    let rank: SearchRank
    let source: UInt8
    let place: SearchPlace

    init(_ rank: SearchRank, _ source: UInt8, _ place: SearchPlace) {
        (self.rank, self.source, self.place) = (rank, source, place)
    }

    init(_ bytes: [UInt8]) throws(ModelError) {
        guard bytes.count > 3 else { throw ModelError(.usage, "the cursor is of no search") }
        rank = SearchRank(weight: bytes[0], isLonger: bytes[1] != 0)
        source = bytes[2]
        place = SearchPlace(Array(bytes[3...]))
    }

    var bytes: [UInt8] { [rank.weight, rank.isLonger ? 1 : 0, source] + place.bytes }

    /// Where what comes behind begins in a source.
    func target(of source: UInt8, in rank: SearchRank) -> [UInt8] {
        guard rank == self.rank else { return [] }
        return source <= self.source ? place.bytes + [0] : place.bytes
    }

    /// By class, then by place; of things at one place that of the first source comes first.
    package static func < (left: SearchPosition, right: SearchPosition) -> Bool {
        if left.rank != right.rank { return left.rank < right.rank }
        if left.place == right.place { return left.source < right.source }
        return left.place.bytes.lexicographicallyPrecedes(right.place.bytes)
    }
}

extension SearchRank {
    /// All classes, the best first.
    fileprivate static let all = Set(SearchField.allCases.map(\.weight)).sorted().flatMap {
        [SearchRank(weight: $0, isLonger: false), SearchRank(weight: $0, isLonger: true)]
    }
}

extension SearchPass {
    /// The pass whose thing comes first.
    fileprivate static func first(of passes: [SearchPass]) -> Int? {
        passes.indices.filter { passes[$0].thing != nil }.min { left, right in
            guard let a = passes[left].thing?.place.bytes, let b = passes[right].thing?.place.bytes
            else { return false }
            return a.lexicographicallyPrecedes(b)
        }
    }
}

extension SearchHit {
    init(_ thing: SearchThing, _ words: SearchWords) {
        self.init(
            kind: thing.kind, id: thing.id, about: thing.about?.text,
            at: thing.at.map(UTCTime.init),
            texts: words.toldTexts(of: thing).map { text in
                let places = text.isSearched ? words.words.flatMap(text.folded.places) : []
                return SearchedText(
                    field: text.field, text: text.text,
                    matches: SearchText.ranges(of: places, in: text.text).map {
                        SearchMatch(start: $0.lowerBound, end: $0.upperBound)
                    })
            })
    }
}

extension SearchHit.Kind {
    /// The fields in which things of the kind are found.
    var fields: [SearchField] {
        switch self {
        case .video: [.title, .otherTitle, .sharer]
        case .submission: [.title, .owner]
        case .comment: [.author, .comment]
        case .show: [.name, .network]
        case .user: [.name]
        case .question: [.question]
        }
    }

    /// Whether there are rows by the first letters.
    var hasStarts: Bool { self != .comment }

    /// The names of its tables in an index.
    var tables: [String] {
        hasStarts ? ["\(rawValue)-terms", "\(rawValue)-starts"] : ["\(rawValue)-terms"]
    }
}

extension SearchField {
    /// What counts more is less.
    var weight: UInt8 {
        switch self {
        case .title, .otherTitle, .name, .question: 1
        case .sharer, .owner, .author: 2
        case .network: 3
        case .comment: 4
        }
    }
}
